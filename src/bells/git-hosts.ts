// What GitHub, Gitea and Forgejo send, and their signatures: the key is the secret of the bell.
import { createHmac } from 'node:crypto';
import { lookUp } from '../errors/look-up.ts';
import { isSameSecret } from '../protocol/bytes.ts';
import { listOf, type Nothing, objectOf, type Posted, type Shown, textOf } from './posted.ts';

/** Whether a hexadecimal HMAC-SHA256 fits. Without one, the secret in the address is enough. */
export const isSigned = (header: unknown, secret: string, signed: Uint8Array): boolean =>
  header === undefined ||
  isSameSecret(
    String(header).replace(/^sha256=/, ''),
    createHmac('sha256', secret).update(signed).digest('hex'),
  );

/** What an event is about: the first of these members. */
const subjects =
  'pull_request issue discussion release workflow_run workflow_job check_run check_suite deployment_status alert milestone package';
/** Events of work that takes a while: only its end is shown. */
const works = /^(?:workflow_run|workflow_job|check_run|check_suite|deployment_status|status)$/;
const failures = /^(?:fail\w*|error|timed_out|startup_failure|action_required)$/;
const notEnded = /^(?:queued|pending|in_progress|requested|waiting)$/;

const firstLine = (value: unknown): readonly string[] => textOf(value)?.split('\n', 1) ?? [];

/** @param event as its header has it */
export function readGitEvent({ fields = {} }: Posted, event: string): Shown | Nothing {
  if (event === 'ping') return 'nothing';
  const { full_name, html_url } = objectOf(fields['repository']);
  const title = textOf(full_name) ?? textOf(objectOf(fields['organization'])['login']) ?? event;
  const who = textOf(objectOf(fields['sender'])['login']) ?? '';
  if (event === 'push') {
    const branch = (textOf(fields['ref']) ?? '').replace(/^refs\/(?:heads|tags)\//, '');
    const commits = listOf(fields['commits']);
    const count = commits.length === 1 ? 'a commit' : `${commits.length} commits`;
    return {
      title,
      text: [
        `${who} ${fields['deleted'] === true ? 'deleted' : `pushed ${count} to`} ${branch}`,
        ...firstLine(objectOf(fields['head_commit'] ?? commits.at(-1))['message']),
      ].join('\n'),
      url: fields['compare'] ?? fields['compare_url'] ?? html_url,
      key: `${title} push ${branch}`,
    };
  }
  const kind = subjects.split(' ').find((name) => name in fields) ?? event;
  const subject = objectOf(lookUp(fields, kind));
  const number = textOf(subject['number'] ?? subject['run_number']);
  const name = textOf(subject['title'] ?? subject['name'] ?? subject['tag_name'] ?? fields['ref']);
  const key = `${title} ${kind} ${number ?? textOf(subject['id']) ?? name}`;
  if (works.test(event)) {
    const { conclusion, state, status, head_branch: branch = fields['context'] } = subject;
    const result = textOf(conclusion ?? state ?? status ?? fields['state']);
    if (result === undefined || notEnded.test(result)) return 'nothing';
    const isFailure = failures.test(result);
    return {
      title,
      text: `${name ?? event} ${result}${branch === undefined ? '' : ` (${textOf(branch)})`}`,
      url: subject['html_url'] ?? subject['target_url'] ?? fields['target_url'] ?? html_url,
      key,
      urgency: isFailure ? 'high' : 'low',
      isQuiet: !isFailure,
    };
  }
  const said = objectOf(fields['comment'] ?? fields['review']);
  const action = event.includes('comment')
    ? 'commented on'
    : event.includes('review')
      ? 'reviewed'
      : textOf(fields['action']);
  const about = [who, action, kind, number && `#${number}`].filter(Boolean).join(' ').replaceAll('_', ' ');
  return {
    title,
    text: [name === undefined ? about : `${about}: ${name}`, ...firstLine(said['body'])].join('\n'),
    url: said['html_url'] ?? subject['html_url'] ?? html_url,
    key,
  };
}
