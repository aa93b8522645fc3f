// What stands in packaging/, for real: the container, built and run as docs/operations.md says, and the unit under a systemd,
// which runs in a container of its own.
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { containers, install } from '../scripts/install-test-tools.ts';
import { exampleSubscription } from '../test/cli/example-subscriptions.ts';
import { build, buildImage, podman, run } from './container.ts';
import { until } from '../tools/until.ts';

const isPossible =
  process.platform === 'linux' && process.getuid?.() === 0 && (await install('containers', containers));
const skip = isPossible ? false : 'Containers need Linux, root, podman, runc and debootstrap.';

const unit = join(import.meta.dirname, '../packaging/deskbell.service');

suite('packaging', { skip }, () => {
  let image: string;
  const started: string[] = [];
  before(async () => {
    image = await buildImage();
  });
  after(async () => {
    for (const id of started) await podman(['rm', '--force', '--volumes', id]);
  });

  const start = async (...words: readonly string[]): Promise<string> => {
    const id = await run(...words);
    started.push(id);
    return id;
  };

  test('the container serves with a read-only root, no capabilities and no root, and stops at SIGTERM', async () => {
    const volume = `deskbell-soak-${process.pid}`;
    const closed = [
      '--read-only',
      '--tmpfs',
      '/tmp',
      '--cap-drop',
      'all',
      '--security-opt',
      'no-new-privileges',
    ];
    const data = ['--volume', `${volume}:/data`, '--env', 'DESKBELL_SUBJECT=mailto:push@example.org'];
    const startService = () => start('--network', 'none', ...closed, ...data, image);
    const id = await startService();
    const inside = (...words: readonly string[]): Promise<string> => podman(['exec', id, ...words]);
    const ask = (script: string): Promise<string> => inside('node', '-e', script);
    await untilHealthy(id);

    assert.match(
      await inside('cat', '/proc/1/status'),
      /^Uid:\t1000\t1000\t1000\t1000\n[^]*^CapEff:\t0+\n[^]*^NoNewPrivs:\t1$/m,
    );
    await assert.rejects(inside('touch', '/opt/deskbell/file'), /Read-only file system/);
    const body = JSON.stringify(JSON.stringify(exampleSubscription(1)));
    const headers = `{ 'content-type': 'application/json' }`;
    const register = `fetch('http://127.0.0.1:8080/webPush', { method: 'POST', body: ${body}, headers: ${headers} })`;
    assert.equal(await ask(`${register}.then(({ status }) => console.log(status))`), '200');
    const findings = await inside('deskbell', 'doctor', '--json').catch(
      ({ stdout }: { readonly stdout: string }) => stdout,
    );
    const faults = findings.split('\n').filter((line) => line.includes('"fault"'));
    // there is no network
    assert.deepEqual(
      faults.filter((line) => !/"subject":"(?:network|clock)/.test(line)),
      [],
    );

    await podman(['stop', '--time', '30', id]);
    assert.equal(await podman(['inspect', '--format', '{{.State.ExitCode}}', id]), '0');
    const again = await startService();
    await untilHealthy(again);
    const cli = ['exec', again, 'deskbell'];
    assert.match(await podman([...cli, 'subscriptions', 'list']), /^\s*1\s/m, 'what was registered stays');
  });

  test('the health check asks the port and prefix that are configured, and a worker’s reports', async () => {
    const volume = `deskbell-soak-worker-${process.pid}`;
    const data = ['--volume', `${volume}:/data`, '--env', 'DESKBELL_SUBJECT=mailto:push@example.org'];
    const service = await start(
      '--network',
      'none',
      '--env',
      'DESKBELL_PREFIX=/push',
      ...data,
      image,
      'serve',
      '--port',
      '9000',
    );
    await untilHealthy(service);
    await untilHealthy(await start('--network', 'none', ...data, image, 'worker'));
    const packages = `require('pg'); require('@prometheus-io/client')`;
    await podman(['exec', '--workdir', '/opt/deskbell', service, 'node', '-e', packages]);
  });

  test('the health check fails where nobody serves', async () => {
    const id = await start('--network', 'none', '--entrypoint', 'sleep', image, '60');
    await assert.rejects(podman(['healthcheck', 'run', id]));
  });

  test('systemd runs the unit, restarts what gives no sign of life, reloads and stops it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'deskbell-unit-'));
    await copyFile(unit, join(folder, 'deskbell.service'));
    await writeFile(join(folder, 'config.json'), '{ "subject": "mailto:push@example.org" }');
    await writeFile(join(folder, 'Containerfile'), systemdImage(image));
    const withSystemd = 'localhost/deskbell-soak-systemd';
    await build(folder, withSystemd);
    await rm(folder, { recursive: true });
    // newer versions ask for it where the kernel still has version 1 of cgroups
    const allowed = ['--env', 'SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1'];
    const id = await start('--privileged', '--systemd=always', '--network', 'none', ...allowed, withSystemd);
    const inside = (script: string): Promise<string> => podman(['exec', id, 'sh', '-c', script]);
    const show = async (name: string): Promise<string> =>
      inside(`systemctl show --property ${name} --value deskbell`);
    await until(
      async () =>
        /running|degraded/.test(await inside('systemctl is-system-running || true').catch(() => '')),
      'systemd to have started',
    );

    // returns once READY=1 has come
    await inside('systemctl start deskbell');
    assert.equal(await show('ActiveState'), 'active');
    const pid = await show('MainPID');
    const status = await inside(`cat /proc/${pid}/status`);
    assert.doesNotMatch(status, /^Uid:\t0\t/m);
    assert.match(status, /^CapEff:\t0+\n[^]*^NoNewPrivs:\t1\nSeccomp:\t2$/m);
    assert.match(await inside('ls -l /var/lib/private/deskbell'), /^-rw------- .* vapid-keys\.json$/m);
    assert.match(await inside('journalctl --unit deskbell'), /Deskbell listens on/);

    await inside('systemctl reload deskbell');
    assert.deepEqual([await show('ActiveState'), await show('MainPID')], ['active', pid]);

    await inside('mkdir -p /run/systemd/system/deskbell.service.d');
    await inside(`printf '[Service]\\nWatchdogSec=2\\n' > /run/systemd/system/deskbell.service.d/soon.conf`);
    await inside('systemctl daemon-reload && systemctl restart deskbell');
    await inside('kill -STOP $(systemctl show --property MainPID --value deskbell)');
    await until(async () => (await show('NRestarts')) === '1', 'the restart');
    await until(async () => (await show('ActiveState')) === 'active', 'the service to run again');

    await inside('systemctl stop deskbell');
    assert.deepEqual([await show('Result'), await show('ExecMainStatus')], ['success', '0']);
  });
});

async function untilHealthy(id: string): Promise<void> {
  await until(async () => {
    const isHealthy = await podman(['healthcheck', 'run', id]).then(
      () => true,
      () => false,
    );
    if (isHealthy) return true;
    const state = await podman(['inspect', '--format', '{{.State.Status}}', id]);
    if (state !== 'running') throw new Error(`The container is ${state}: ${await podman(['logs', id])}`);
    return false;
  }, 'the container to be healthy');
}

/** A machine with systemd and the unit. Its mounts are shared, or what systemd mounts for a service would not be seen by it. */
const systemdImage = (image: string): string => `
FROM ${image}
USER 0:0
RUN apt-get update -qq && apt-get install -qq --yes --no-install-recommends systemd systemd-sysv dbus
RUN ln -s /usr/local/bin/node /usr/bin/node && ln -s /usr/local/bin/deskbell /usr/bin/deskbell
COPY deskbell.service /etc/systemd/system/
COPY config.json /etc/deskbell/
ENTRYPOINT ["/bin/sh", "-c", "mount --make-rshared / && exec /sbin/init"]
CMD []
`;
