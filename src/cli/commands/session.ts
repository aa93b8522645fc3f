// `deskbell session`: creates a session for trying the demonstration actions.
import type { Command } from 'commander';
import { createCommand } from '../command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';
import { dataSettings, onNamedData } from '../data/open-data.ts';

export function sessionCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'session',
    description:
      'Prints the headers of a new session. Its entry SESSION has the given value. Cookie goes with every request, ' +
      'Csrf-Token with requests that have an unsafe method. The session is valid for one day.',
    settings: [...dataSettings],
    json: 'Prints {"cookie", "csrfToken"}.',
    examples: [
      'deskbell session alice',
      'curl -H "$(deskbell session alice | head -1)" http://127.0.0.1:8080/api/get',
    ],
  })
    .argument('<value>', 'Value of the entry SESSION. It may be empty ("").')
    .action(
      onNamedData(environment, async ({ sessionKey }, value: string, flags: JsonFlag) => {
        const { createSessionCookie } = await import('../../service/demonstration/session-cookie.ts');
        const { cookie, csrfToken } = await createSessionCookie({ sessionKey, value });
        await output.result(flags, { cookie, csrfToken }, `Cookie: ${cookie}\nCsrf-Token: ${csrfToken}`);
      }),
    );
}
