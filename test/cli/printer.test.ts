// What commands print of strangers, on a terminal that has styles.
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { createOutput, createPrinter } from '../../src/cli/output/output.ts';

const terminal = Object.assign(new Writable(), {
  isTTY: true,
  getColorDepth: () => 8,
  hasColors: () => true,
});

test('styles and line ends of the command pass', () => {
  const { style, toPrintable } = createPrinter(terminal);
  const text = `${style('bold', 'listens')} on\nhttp://127.0.0.1`;
  assert.equal(toPrintable(text), '\u001b[1mlistens\u001b[22m on\nhttp://127.0.0.1');
});

test('controls of strangers are escaped, styles that the command never made included', () => {
  const { style, toPrintable } = createPrinter(terminal);
  const hostile = 'a\u001b[8m\u001b[2J\u009b31m\u202e\u200b\r\u0007';
  const escaped = String.raw`a\u001b[8m\u001b[2J\u009b31m\u202e\u200b\u000d\u0007`;
  assert.equal(toPrintable(`${style('bold', 'x')}${hostile}`), `\u001b[1mx\u001b[22m${escaped}`);
  assert.equal(toPrintable(style('bold', hostile)), `\u001b[1m${escaped}\u001b[22m`);
});

test('controls of strangers are escaped wherever a command writes: lines, JSON, tables, diagnostics, the line that changes', async () => {
  const hostile = 'a\u001b[2J\u202e';
  const escaped = String.raw`a\u001b[2J\u202e`;
  const written = { stdout: '', stderr: '' };
  const open = (name: keyof typeof written) =>
    Object.assign(
      new Writable({
        write: (chunk, _encoding, done) => {
          written[name] += String(chunk);
          done();
        },
      }),
      { isTTY: true, columns: 80, getColorDepth: () => 1, hasColors: () => false },
    ) as unknown as NodeJS.WriteStream & { fd: 1 & 2 };
  const output = createOutput({ stdout: open('stdout'), stderr: open('stderr') }, () => {});
  const table = { toJson: (name: string) => ({ name }), toText: String, header: hostile };
  await output.line(hostile);
  for (const json of [true, false]) {
    await output.result({ json }, { name: hostile }, hostile);
    await output.table({ json }, { ...table, rows: [hostile] });
    await output.table({ json: false }, { ...table, rows: [], ifEmpty: hostile });
  }
  output.diagnostic(hostile);
  output.live(hostile);
  const named = `{"name":"${escaped}"}`;
  const lines = [escaped, named, named, escaped, escaped, escaped, escaped];
  assert.deepEqual(written, { stdout: lines.join('\n'), stderr: `${escaped}\n`.repeat(3) });
});
