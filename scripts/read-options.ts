// Reads the options of a script. What a script does and takes stands in the comment at its top, which `--help` prints.
import { readFileSync } from 'node:fs';
import { parseArgs, type ParseArgsConfig } from 'node:util';

/** Ends the process after `--help` (0), and after an option that the script does not have (2). */
export function readOptions<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  if (process.argv.includes('--help')) {
    console.log(readTopComment());
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${readTopComment()}`);
    process.exit(2);
  }
}

function readTopComment(): string {
  const [comment = ''] = /^(?:\/\/.*\n)+/.exec(readFileSync(process.argv[1]!, 'utf8')) ?? [];
  return comment.replaceAll(/^\/\/ ?/gm, '').trimEnd();
}
