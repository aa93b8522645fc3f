// `deskbell session`: creates a session for trying the demonstration actions.
import type { Command } from 'commander';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

export function sessionCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'session',
    description:
      'Prints the headers of a new session. Its entry SESSION has the given value. Cookie goes with every request, ' +
      'Csrf-Token with requests that have an unsafe method. The session is valid for one day.',
    json: 'Prints {"cookie", "csrfToken"}.',
    examples: [
      'deskbell session alice',
      'curl -H "$(deskbell session alice | head -1)" http://127.0.0.1:8080/api/get',
    ],
  })
    .argument('<value>', 'Value of the entry SESSION. It may be empty ("").')
    .onData(async ({ sessionKey }, value: string, flags: JsonFlag) => {
      const { createSessionCookie } = await import('../../service/demonstration/session.ts');
      const { cookie, csrfToken } = await createSessionCookie({ sessionKey, value });
      await output.result(flags, { cookie, csrfToken }, `Cookie: ${cookie}\nCsrf-Token: ${csrfToken}`);
    });
}
