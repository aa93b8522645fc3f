// Where records go: JSON lines, or lines for people on a terminal; nothing is lost when the log is closed.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { createLog } from '../../src/http/log.ts';
import { until } from '../../tools/until.ts';

describe('the log', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deskbell-log-'));
  });
  after(() => rm(folder, { recursive: true }));

  const record = { mechanism: 'filter', phase: 'result', method: 'GET', url: '/api/get', status: 200 };

  test('is JSON lines with level and time', async () => {
    const file = join(folder, 'json.log');
    const log = createLog({ file });
    for (let count = 0; count < 5000; count += 1) log.info({ ...record, count });
    log.error({ event: 'fault', error: new Error('broken') });
    log.close();
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    assert.equal(lines.length, 5001);
    const { time, level, ...rest } = JSON.parse(lines[4999]!) as Record<string, unknown>;
    assert.deepEqual(rest, { ...record, count: 4999 });
    assert.equal(level, 30);
    assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 60_000);
    const fault = JSON.parse(lines[5000]!) as { error: { message: string; stack: string } };
    assert.equal(fault.error.message, 'broken');
    assert.match(fault.error.stack, /log\.test/);
  });

  test('needs no listener of its own for the end of the process', () => {
    const others = process.listenerCount('exit');
    const logs = Array.from({ length: 20 }, () => createLog());
    assert.equal(process.listenerCount('exit'), others + 1);
    for (const log of logs) log.close();
    assert.equal(process.listenerCount('exit'), others);
  });

  test('is readable lines for a terminal', async () => {
    const file = join(folder, 'readable.log');
    const log = createLog({ file, isReadable: true });
    log.info(record);
    log.info({ event: 'subscription', endpoint: 'https://push.example/x', p256dh: 'a', auth: 'b' });
    log.error({ event: 'fault', error: 'a text' });
    log.error({ event: 'fault', error: new Error('broken') });
    log.close();
    const [first, second, thrown, text, third, ...stack] = (await readFile(file, 'utf8'))
      .trimEnd()
      .split('\n');
    assert.match(first!, /^\d\d:\d\d:\d\d\.\d{3} INFO  filter result GET \/api\/get {"status":200}$/);
    assert.match(
      second!,
      / INFO  subscription {"endpoint":"https:\/\/push\.example\/x","p256dh":"a","auth":"b"}$/,
    );
    assert.match(thrown!, / ERROR fault$/);
    assert.equal(text, "    'a text'");
    assert.match(third!, / ERROR fault$/);
    assert.equal(stack[0], '    Error: broken');
    assert.match(stack[1]!, /^ {8}at .*log\.test/);
  });

  test('goes to standard output without a file, in readable lines where that is a terminal', () => {
    const program = `
      import { createLog } from ${JSON.stringify(import.meta.resolve('../../src/http/log.ts'))};
      for (const isTTY of [true, false]) {
        process.stdout.isTTY = isTTY;
        createLog().info(${JSON.stringify(record)});
      }
    `;
    const words = ['--input-type=module-typescript', '--eval', program];
    const [first, second] = execFileSync(process.execPath, words, { encoding: 'utf8' }).split('\n');
    assert.match(first!, / INFO  filter result GET \/api\/get {"status":200}$/);
    const { time: _, ...written } = JSON.parse(second!) as Record<string, unknown>;
    assert.deepEqual(written, { ...record, level: 30 });
  });

  for (const isReadable of [false, true]) {
    test(`shows no character that a terminal obeys, ${isReadable ? 'readable' : 'JSON'}`, async () => {
      const file = join(folder, `hostile-${isReadable}.log`);
      const log = createLog({ file, isReadable });
      const hostile = 'a\u009b31m\u001b[2J\u202e\u2066\u200b\u2028\u0085\u{e0041}\u0007b';
      const error = new Error(hostile);
      log.info({
        ...record,
        url: `/${hostile}`,
        body: { [hostile]: [hostile] },
        session: { SESSION: hostile },
      });
      log.info({ event: hostile, method: hostile });
      log.error({ event: 'fault', error });
      log.close();
      const text = await readFile(file, 'utf8');
      assert.doesNotMatch(text.replaceAll('\n', ''), /[^\x20-\x7e]/);
      assert.ok(text.includes(String.raw`\u009b31m`));
      if (isReadable) return;
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      assert.deepEqual(lines[0]!['body'], { [hostile]: [hostile] }, 'what a program reads is what it was');
    });
  }

  test('writes out what is buffered when it is asked to, and by itself soon', async () => {
    const file = join(folder, 'flushed.log');
    const log = createLog({ file });
    log.info(record);
    log.flush();
    assert.match(await readFile(file, 'utf8'), /filter/);
    log.info({ second: true });
    await until(async () => (await readFile(file, 'utf8')).includes('second'), 'the second record');
    log.close();
  });

  test('takes every right to its file from other users, and leaves those of its group and owner', async () => {
    for (const [given, left] of [
      [0o600, 0o600],
      [0o640, 0o640],
      [0o644, 0o640],
      [0o664, 0o660],
      [0o666, 0o660],
      [0o2755, 0o2750],
    ] as const) {
      const file = join(folder, `mode-${given.toString(8)}.log`);
      await writeFile(file, 'before\n');
      await chmod(file, given);
      const log = createLog({ file });
      log.info(record);
      log.close();
      assert.equal(((await stat(file)).mode & 0o7777).toString(8), left.toString(8), given.toString(8));
      assert.match(await readFile(file, 'utf8'), /^before\n.*filter/);
    }
    const file = join(folder, 'new-mode.log');
    createLog({ file }).close();
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  test('loses records, and nothing else, where the disk is full', { skip: !existsSync('/dev/full') }, () => {
    const log = createLog({ file: '/dev/full' });
    for (let count = 0; count < 1000; count += 1) log.info({ ...record, count });
    log.flush();
    log.close();
  });

  test('keeps what a full pipe does not take, in order', async (t) => {
    const writing = "for (let count = 0; count < 50000; count += 1) writer.write(count + ' ü\\n');";
    const { child, exited, read, text, warnings } = startWriting(t, writing);
    // the reader is late
    await until(() => warnings() !== '', 'the pipe to be full');
    const expected = Array.from({ length: 50_000 }, (_, count) => `${count} ü\n`).join('');
    read();
    await until(() => text().length >= expected.length, 'all lines');
    child.stdin.end();
    assert.deepEqual(await exited, [0, null]);
    assert.equal(text(), expected);
  });

  test('drops what a reader leaves that does not keep up, says so once, and goes on', async (t) => {
    const { child, exited, read, text, warnings } = startWriting(
      t,
      `for (let count = 0; count < 40; count += 1) writer.write('x'.repeat(1024 * 1024 - 1) + '\\n');
      writer.write('the last');`,
    );
    await until(() => warnings().includes('does not keep up'), 'the warning');
    read();
    await until(() => text().endsWith('the last'), 'the last line');
    child.stdin.end();
    assert.deepEqual(await exited, [0, null]);
    const mebibytes = text().length / 1024 / 1024;
    assert.ok(mebibytes > 1 && mebibytes < 18, `${mebibytes} of 40 are kept`);
    assert.equal(warnings().match(/Log records are lost: their reader does not keep up\./g)?.length, 1);
  });
});

/** Starts a process that writes what `lines` writes, and flushes it until its standard input ends. */
function startWriting(t: TestContext, lines: string) {
  const program = `
    import { createBatchWriter } from ${JSON.stringify(import.meta.resolve('../../src/http/log.ts'))};
    process.stdout.on('error', () => {});
    const writer = createBatchWriter(process.stdout.fd);
    ${lines}
    process.stderr.write('All is written.');
    const timer = setInterval(() => writer.flush(), 5);
    process.stdin.resume().on('end', () => clearInterval(timer));
  `;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program]);
  t.after(() => child.kill());
  let [text, warnings] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (warnings += chunk));
  const read = () => child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return { child, exited: once(child, 'exit'), read, text: () => text, warnings: () => warnings };
}
