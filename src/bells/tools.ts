// How the requests of each tool are recognised and read. Tools are tried in this order. The table in docs/bells.md is
// made from this file.
import type { answers } from './answers.ts';
import { isSameSecret } from '../protocol/bytes.ts';
import { isSigned, readGitEvent, readGitLabEvent, wrong } from './git-hosts.ts';
import {
  readApprise,
  readDiscord,
  readGotify,
  readSlack,
  readUnknown,
  readUsual,
  usualNames,
} from './messengers.ts';
import { readAlerts, readMonitor } from './monitoring.ts';
import { readNtfyJson, readNtfyText } from './ntfy.ts';
import { type BellError, type Nothing, type Posted, type Shown, textOf } from './posted.ts';

type Recognised = Shown | Nothing | BellError | undefined;

/** A tool that posts to bells. The texts describe the tool in docs/bells.md. */
export interface Tool {
  readonly name: string;
  readonly recognisedBy: string;
  readonly title: string;
  readonly text: string;
  readonly link?: string;
  readonly urgency?: string;
  /** Says in the documentation which earlier notification is replaced. Default: nothing. */
  readonly replaces?: string;
  /** The format of the response. Default: JSON. */
  readonly answer?: keyof typeof answers;
  /** @returns undefined if the request is from another tool, or an error if the request must be refused */
  read(posted: Posted, nowMs: number): Recognised | Promise<Recognised>;
}

const ofGit = {
  title: 'the repository',
  text: 'the person, the action and its object; for builds, only the result',
  link: 'the event’s object',
  urgency: 'for builds: high if the build fails, otherwise low',
  replaces: 'notifications about the same issue, pull request, build or branch; silently if a build succeeds',
};

const ofAlerts = {
  title: '`alertname`, and the number of alerts',
  text: '`summary`, `description` or labels of up to five alerts',
  urgency: 'the `severity` label decides; low if resolved',
  replaces: 'notifications with the same `groupKey`; silently if resolved',
};

const quoted = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

export const tools: readonly Tool[] = [
  {
    name: 'Forgejo, Gitea',
    recognisedBy: 'the `X-Forgejo-Event` or `X-Gitea-Event` header; `X-Gitea-Signature` must match',
    ...ofGit,
    // Forgejo and Gitea also send headers with GitHub’s names, so this comes first
    read: (posted) => {
      const { headers, secret, json } = posted;
      const event = textOf(headers['x-forgejo-event'] ?? headers['x-gitea-event']);
      const signature = headers['x-forgejo-signature'] ?? headers['x-gitea-signature'];
      if (event === undefined) return undefined;
      return isSigned(signature, secret, json) ? readGitEvent(posted, event) : wrong('signature');
    },
  },
  {
    name: 'GitHub',
    recognisedBy: 'the `X-GitHub-Event` header; `X-Hub-Signature-256` must match',
    ...ofGit,
    read: (posted) => {
      const { headers, secret, bytes } = posted;
      const event = textOf(headers['x-github-event']);
      if (event === undefined) return undefined;
      const isRight = isSigned(headers['x-hub-signature-256'], secret, bytes);
      return isRight ? readGitEvent(posted, event) : wrong('signature');
    },
  },
  {
    name: 'GitLab',
    recognisedBy: 'the `X-Gitlab-Event` header; `X-Gitlab-Token` must match',
    ...ofGit,
    read: (posted) => {
      const { headers, secret } = posted;
      const event = textOf(headers['x-gitlab-event']);
      if (event === undefined) return undefined;
      const isRight = isSameSecret(String(headers['x-gitlab-token'] ?? secret), secret);
      return isRight ? readGitLabEvent(posted, event) : wrong('token');
    },
  },
  {
    name: 'Grafana',
    recognisedBy: '`alerts` and `orgId`; `X-Grafana-Alerting-Signature` must match',
    ...ofAlerts,
    link: 'panel, dashboard or generator',
    read: (posted) => {
      const { headers, secret, bytes } = posted;
      const shown = readAlerts(posted, true);
      // the signed text may begin with a timestamp from a header field, and users choose the name of this field
      const times = Object.values(headers).filter((value) => /^\d{10}$/.test(String(value)));
      const signed = times.map((seconds) => Buffer.concat([Buffer.from(`${String(seconds)}:`), bytes]));
      const isRight = isSigned(headers['x-grafana-alerting-signature'], secret, bytes, ...signed);
      return shown === undefined || isRight ? shown : wrong('signature');
    },
  },
  {
    name: 'Alertmanager',
    recognisedBy: '`alerts` and `version` "4"',
    ...ofAlerts,
    link: '`generatorURL`, or `externalURL` if there are several alerts',
    read: (posted) => readAlerts(posted, false),
  },
  {
    name: 'Uptime Kuma',
    recognisedBy: '`monitor` and `msg`',
    title: 'the monitor, and whether it is up',
    text: '`heartbeat.msg`, or `msg`',
    link: 'the monitor’s URL',
    urgency: 'down: high; up: low',
    replaces: '`monitor.id`; silently if up. Certificate warnings replace nothing',
    read: readMonitor,
  },
  {
    name: 'Gotify',
    recognisedBy: 'the path `/message`',
    title: '`title`',
    text: '`message`',
    link: '`extras.client::notification.click.url`',
    urgency: '`priority`: 0 very low and silent, 1 to 3 low, 4 to 7 normal, 8 and more high',
    answer: 'Gotify',
    read: readGotify,
  },
  {
    name: 'ntfy, as JSON',
    recognisedBy: '`topic`, at the root',
    title: '`title`',
    text: '`message`, and the `tags`',
    link: '`click`; `view` actions are buttons',
    urgency: '`priority`: 1 very low, 2 low, 3 normal, 4 and 5 high',
    replaces: '`sequence_id`',
    answer: 'ntfy',
    read: readNtfyJson,
  },
  {
    name: 'Apprise',
    recognisedBy: '`version` "1.…" and `type`',
    title: '`title`',
    text: '`message`',
    urgency: '`type`: failure high, success low',
    read: readApprise,
  },
  {
    name: 'as for Slack',
    recognisedBy: '`text`, `attachments` or `blocks`, and no `title`',
    title: 'the first attachment’s title',
    text: '`text`, blocks and attachments',
    link: '`title_link`, or the first link',
    answer: 'Slack',
    read: readSlack,
  },
  {
    name: 'as for Discord',
    recognisedBy: '`content` or `embeds`',
    title: 'the first embed’s title',
    text: '`content` and `description`',
    link: 'the first embed’s `url`',
    answer: 'Discord',
    read: readDiscord,
  },
  {
    name: 'other JSON, or a form',
    recognisedBy: quoted(usualNames.text),
    title: quoted(usualNames.title),
    text: 'the first of these fields',
    link: quoted(usualNames.url),
    read: readUsual,
  },
  {
    name: 'unknown JSON',
    recognisedBy: 'an object with none of these fields, or an array',
    title: 'the bell’s name',
    text: 'the JSON, shortened',
    read: readUnknown,
  },
  {
    name: 'text, as for ntfy',
    recognisedBy: 'anything else',
    title: '`Title`',
    text: 'the body or `Message`, and the `Tags`',
    link: '`Click`; `view` actions are buttons',
    urgency: '`Priority`, as for ntfy in JSON',
    replaces: '`Sequence-ID`, or the part of the path after the secret',
    answer: 'ntfy',
    read: readNtfyText,
  },
];
