// Reads webhooks from GitHub, Gitea, Forgejo and GitLab, and checks their signatures, whose key is the bell's secret.
import { createHmac } from 'node:crypto';
import { lookUp } from '../errors/check-options.ts';
import { isSameSecret } from '../protocol/bytes.ts';
import { BellError, listOf, type Nothing, objectOf, type Posted, type Shown, textOf } from './posted.ts';

/** True if the header is the hexadecimal HMAC-SHA256 of a text, or is absent, since the address is secret too. */
export const isSigned = (header: unknown, secret: string, ...signed: readonly Uint8Array[]): boolean =>
  header === undefined ||
  signed.some((bytes) =>
    isSameSecret(
      String(header).replace(/^sha256=/, ''),
      createHmac('sha256', secret).update(bytes).digest('hex'),
    ),
  );

/** @param what the part of the request that is wrong, such as "signature" */
export const wrong = (what: string): BellError => {
  const remedy = 'make the secret of the webhook the last part of its address, or empty';
  return new BellError(401, 40101, `unauthorized: the ${what} does not fit; ${remedy}`);
};

/** The members that name the subject of an event; the first one present is used. */
const subjects =
  'pull_request issue discussion release workflow_run workflow_job check_run check_suite deployment_status alert milestone package';
/** Events of builds and similar work. Only the completion of the work is shown. */
const works =
  /^(?:workflow_run|workflow_job|check_run|check_suite|deployment_status|status|pipeline|job|deployment)$/;
const failures = /^(?:fail\w*|error|timed_out|startup_failure|action_required)$/;
const notEnded =
  /^(?:queued|pending|in_progress|requested|waiting\w*|created|preparing|running|manual|scheduled)$/;

const firstLine = (value: unknown): readonly string[] => textOf(value)?.split('\n', 1) ?? [];

/** @param event the value of the event's header */
export function readGitEvent(
  { fields = {} }: Pick<Posted, 'fields'>,
  event: string,
  about = subjects.split(' ').find((name) => lookUp(fields, name) != null) ?? event,
): Shown | Nothing {
  if (event === 'ping') return { whyNothing: 'it is a ping: the webhook works' };
  const { full_name, html_url } = objectOf(fields['repository']);
  const title = textOf(full_name) ?? textOf(objectOf(fields['organization'])['login']) ?? event;
  const who = textOf(objectOf(fields['sender'])['login']) ?? '';
  if (event === 'push') {
    const branch = (textOf(fields['ref']) ?? '').replace(/^refs\/(?:heads|tags)\//, '');
    const commits = listOf(fields['commits']);
    const total = Number(textOf(fields['total_commits'] ?? fields['total_commits_count']) ?? commits.length);
    const count = total === 1 ? 'a commit' : `${total} commits`;
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
  const subject = objectOf(lookUp(fields, about));
  // a pull request is an issue too, with the same number
  const kind = about === 'issue' && subject['pull_request'] != null ? 'pull_request' : about;
  const number = textOf(subject['number'] ?? subject['run_number']);
  const name = textOf(subject['title'] ?? subject['name'] ?? subject['tag_name'] ?? fields['ref']);
  const { conclusion, state, status, head_branch: branch = fields['context'] } = subject;
  const id = number ?? textOf(subject['id'] ?? branch) ?? name;
  const key = id && `${title} ${kind} ${id}`;
  if (works.test(event)) {
    const result = textOf(conclusion ?? state ?? status ?? fields['state']);
    if (result === undefined || notEnded.test(result)) return { whyNothing: 'it has not ended' };
    const isFailure = failures.test(result);
    return {
      title,
      text: `${name ?? event.replaceAll('_', ' ')} ${result}${branch === undefined ? '' : ` (${textOf(branch)})`}`,
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
  const deed = [who, action, kind, number && `#${number}`].filter(Boolean).join(' ').replaceAll('_', ' ');
  return {
    title,
    text: [name === undefined ? deed : `${deed}: ${name}`, ...firstLine(said['body'])].join('\n'),
    url: said['html_url'] ?? subject['html_url'] ?? html_url,
    key,
  };
}

/** GitLab's names for kinds of events, where they differ from GitHub's names. */
const gitLabKinds = { tag_push: 'push', build: 'job', work_item: 'issue' };

/**
 * Reads a GitLab webhook, whose members have other names than GitHub's.
 *
 * @param event the header with the kind of event
 */
export function readGitLabEvent({ fields = {} }: Posted, event: string): Shown | Nothing {
  const given = textOf(fields['object_kind'] ?? fields['event_name']) ?? event;
  const kind = lookUp(gitLabKinds, given) ?? given;
  const user = objectOf(fields['user']);
  const { path_with_namespace, web_url } = objectOf(fields['project']);
  const attributes = objectOf(fields['object_attributes']);
  const isNote = kind === 'note';
  const noted = ['merge_request', 'issue', 'snippet', 'commit'].find((name) => lookUp(fields, name) != null);
  const about = isNote ? objectOf(lookUp(fields, noted ?? '')) : { ...fields, ...attributes };
  const subject = {
    number: about['iid'],
    id: about['id'] ?? about['build_id'] ?? about['deployment_id'],
    title: about['title'] ?? about['name'] ?? about['build_name'] ?? about['environment'],
    status: about['status'] ?? about['build_status'],
    head_branch: about['ref'],
    html_url: about['url'] ?? about['deployable_url'],
  };
  const action = textOf(attributes['action'] ?? fields['action']);
  const name = isNote ? (noted ?? kind) : kind;
  const members = {
    ...fields,
    repository: { full_name: path_with_namespace ?? fields['group_path'], html_url: web_url },
    sender: { login: fields['user_username'] ?? user['username'] ?? user['name'] },
    deleted: /^0+$/.test(String(fields['after'])),
    // GitHub's form of an action: `opened` instead of GitLab's `open`, `closed` instead of `close`
    action: action && (/(?:ed|al)$/.test(action) ? action : action.replace(/e?$/, 'ed')),
    comment: isNote ? { body: attributes['note'], html_url: attributes['url'] } : undefined,
    [name]: subject,
  };
  return readGitEvent({ fields: members }, isNote ? 'comment' : kind, name);
}
