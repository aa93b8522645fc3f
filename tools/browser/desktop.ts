// A desktop that nobody sits at: a screen in memory, a message bus, and the notification daemon dunst, so that a real
// browser shows real notifications on it.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { until } from '../until.ts';

export interface Desktop extends AsyncDisposable {
  /** For the programs that are to run on it. */
  readonly environment: NodeJS.ProcessEnv;
  /** How many notifications are on the screen. */
  countNotifications(): Promise<number>;
  /** Clicks the newest notification. */
  clickNotification(): Promise<void>;
  /** Clicks an action of the newest notification. */
  clickAction(title: string): Promise<void>;
  /** Closes the newest notification as a user does who is not interested. */
  dismissNotification(): Promise<void>;
  /** @param crop ImageMagick geometry, such as `800x600+0+0` */
  takeScreenshot(file: string, crop: string): Promise<void>;
}

/** A bus that starts nothing by itself: the system's own dunst would come without our configuration. */
const busConfiguration = (folder: string) => `
<busconfig>
  <type>session</type>
  <listen>unix:dir=${folder}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;

const fontConfiguration = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <include>/etc/fonts/fonts.conf</include>
  <match><test name="family"><string>system-ui</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>
  <match><test name="family"><string>sans-serif</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit></match>
</fontconfig>
`;

const dunstConfiguration = (menu: string) => `
[global]
dmenu = ${menu}
width = 380
origin = top-right
offset = 28x28
padding = 16
horizontal_padding = 18
text_icon_padding = 14
frame_width = 1
corner_radius = 14
max_icon_size = 48
font = Inter 11
line_height = 3
markup = full
format = "<b>%s</b>\\n%b"
show_indicators = no
mouse_left_click = do_action, close_current

# The urgency of a notification that waits for the user.
[urgency_critical]
frame_color = "#3b3766"
background = "#211f3d"
foreground = "#ffffff"
timeout = 0
`;

export async function startDesktop(width: number, height: number): Promise<Desktop> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-desktop-'));
  const started: ChildProcess[] = [];
  const environment = { ...process.env };

  async function write(name: string, content: string): Promise<string> {
    const file = join(folder, name);
    await writeFile(file, content);
    return file;
  }

  /** Starts a program that writes one line to its file descriptor 3 when it is ready. */
  async function start(name: string, ...parameters: readonly string[]): Promise<string> {
    const child = spawn(name, parameters, {
      env: environment,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    });
    started.push(child);
    const [line] = await once(createInterface(child.stdio[3] as Readable), 'line');
    return line;
  }

  const screen = ['-screen', '0', `${width}x${height}x24`, '-nolisten', 'tcp'];
  environment['DISPLAY'] = `:${await start('Xvfb', '-displayfd', '3', ...screen)}`;
  environment['DBUS_SESSION_BUS_ADDRESS'] = await start(
    'dbus-daemon',
    `--config-file=${await write('bus.conf', busConfiguration(folder))}`,
    '--nofork',
    '--print-address=3',
  );
  environment['FONTCONFIG_FILE'] = await write('fonts.conf', fontConfiguration);
  // In the place of a menu: chooses the line with what is written to the file `choice`.
  const menu = await write('menu', `#!/bin/sh\ngrep -F -m 1 -f ${folder}/choice\n`);
  await chmod(menu, 0o700);
  const dunst = ['-config', await write('dunstrc', dunstConfiguration(menu))];
  started.push(spawn('dunst', dunst, { env: environment, stdio: 'ignore' }));

  const run = async (name: string, ...parameters: readonly string[]) =>
    (await promisify(execFile)(name, parameters, { env: environment })).stdout.trim();
  const desktop: Desktop = {
    environment,
    countNotifications: async () => Number(await run('dunstctl', 'count', 'displayed')),
    async clickNotification() {
      await run('dunstctl', 'action', '0');
    },
    async clickAction(title) {
      await write('choice', title);
      await run('dunstctl', 'context');
    },
    async dismissNotification() {
      await run('dunstctl', 'close');
    },
    async takeScreenshot(file, crop) {
      await run(
        'import',
        '-window',
        'root',
        '-crop',
        crop,
        '+repage',
        '+dither',
        '-colors',
        '256',
        `png8:${file}`,
      );
    },
    async [Symbol.asyncDispose]() {
      for (const child of started.reverse()) {
        const hasEnded = child.exitCode !== null || child.signalCode !== null;
        if (!hasEnded && child.kill()) await once(child, 'exit');
      }
      await rm(folder, { recursive: true });
    },
  };
  await until(
    () =>
      desktop.countNotifications().then(
        () => true,
        () => false,
      ),
    'dunst to start',
  );
  return desktop;
}
