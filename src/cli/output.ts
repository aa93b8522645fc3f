// Where commands write: results to standard output, remarks and faults to standard error. When standard output
// goes away (`deskbell subscriptions export | head`, a full disk) the command is told once and writes no more.
import { once } from 'node:events';
import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

export interface Output {
  /** Writes one result line; resolves when more can be taken, so that a slow reader slows the command down. */
  line(text: string): Promise<void>;
  /** Writes one line for people to standard error. */
  remark(text: string): void;
  /** Shows a line that the next one takes the place of, where a person looks at standard output; '' takes it away. */
  live(text: string): void;
  /** `text` in a style where standard output is a terminal that has styles. */
  style(style: Style, text: string): string;
  /** True where a person looks at standard output. */
  readonly isTerminal: boolean;
}

/** @param onGone called once, when standard output cannot be written any longer: `EPIPE` where nobody reads it */
export function createOutput(
  { stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'>,
  onGone: (error: NodeJS.ErrnoException) => void,
): Output {
  let isGone = false;
  let drained: Promise<unknown> | undefined;
  let hasLiveLine = false;
  const wipe = (): string => {
    const wiped = hasLiveLine ? '\r\u001b[K' : '';
    hasLiveLine = false;
    return wiped;
  };
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isGone) return;
    isGone = true;
    onGone(error);
  });
  // There is nowhere left to say that standard error is gone.
  stderr.on('error', () => {});

  return {
    async line(text) {
      if (isGone || stdout.write(`${wipe()}${text}\n`)) return;
      // One wait for however many write at once.
      drained ??= once(stdout, 'drain')
        .catch(() => {})
        .finally(() => (drained = undefined));
      await drained;
    },
    remark(text) {
      const wiped = wipe();
      if (wiped !== '' && !isGone) stdout.write(wiped);
      stderr.write(`${text}\n`);
    },
    live(text) {
      if (!stdout.isTTY || isGone) return;
      // longer than the terminal is wide, it could not be taken away again
      stdout.write(`${wipe()}${text.slice(0, stdout.columns - 1)}`);
      hasLiveLine = text !== '';
    },
    style: (style, text) => styleText(style, text, { stream: stdout }),
    isTerminal: stdout.isTTY,
  };
}
