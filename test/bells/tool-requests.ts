// What tools send to a bell, as they send it, and what is to be made of it. M is where bells are mounted, S the secret.
import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';

export interface ToolRequest {
  readonly name: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON if it is an object. */
  readonly body?: object | string | Uint8Array;
  /** Members of the payload; undefined: it does not have the member. `null`: nothing is rung. */
  readonly shown: Readonly<Record<string, unknown>> | null;
  readonly tool: string;
  readonly urgency?: string;
  /** Default: as ntfy answers, else JSON with `outcome`. */
  readonly answer?: RegExp;
  readonly leftOut?: string;
  readonly shape?: string;
}

/** Default: to the bell itself, an object as JSON. */
type Request = Omit<ToolRequest, 'path'> & { readonly path?: string };

const hmac = (secret: string, body: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

const alert = (status: string, labels: object, annotations: object = {}): object => ({
  status,
  labels: { alertname: 'DiskFull', ...labels },
  annotations,
  startsAt: '2026-11-28T10:00:00Z',
  endsAt: '0001-01-01T00:00:00Z',
  generatorURL: 'http://prometheus:9090/graph?g0.expr=disk',
  fingerprint: 'c0ffee',
});

const alertmanager = (status: string, alerts: readonly object[], commonLabels: object = {}): object => ({
  receiver: 'deskbell',
  status,
  alerts,
  groupLabels: { alertname: 'DiskFull' },
  commonLabels: { alertname: 'DiskFull', ...commonLabels },
  commonAnnotations: {},
  externalURL: 'http://alertmanager:9093',
  version: '4',
  groupKey: '{}:{alertname="DiskFull"}',
  truncatedAlerts: 0,
});

const kuma = (status: number, name: string): object => ({
  heartbeat: {
    monitorID: 7,
    status,
    time: '2026-11-28 10:00:00.123',
    msg: status === 1 ? '200 - OK' : 'connect ECONNREFUSED 192.0.2.1:443',
    ping: null,
    important: true,
    duration: 60,
    retries: 0,
    timezone: 'UTC',
    timezoneOffset: '+00:00',
    localDateTime: '2026-11-28 10:00:00',
  },
  monitor: { id: 7, name, url: 'https://shop.example.org', hostname: null, port: null, type: 'http' },
  msg: `[${name}] [${status === 1 ? '✅ Up' : '🔴 Down'}] …`,
});

const pullRequest = {
  action: 'opened',
  number: 7,
  pull_request: { number: 7, title: 'Fix tea', html_url: 'https://github.com/octo/repo/pull/7' },
  repository: { full_name: 'octo/repo', html_url: 'https://github.com/octo/repo' },
  sender: { login: 'ada' },
};

const run = (status: string, conclusion: string | null): object => ({
  action: status,
  workflow_run: {
    id: 99,
    name: 'CI',
    run_number: 12,
    head_branch: 'main',
    status,
    conclusion,
    html_url: 'https://github.com/octo/repo/actions/runs/99',
  },
  repository: pullRequest.repository,
  sender: pullRequest.sender,
});

const push = {
  ref: 'refs/heads/main',
  compare: 'https://github.com/octo/repo/compare/a...b',
  commits: [{ message: 'Boil water' }, { message: 'Brew tea\n\nGreen.' }],
  head_commit: { message: 'Brew tea\n\nGreen.' },
  repository: pullRequest.repository,
  sender: pullRequest.sender,
};

const gitLab = {
  project: { path_with_namespace: 'tea/house', web_url: 'https://gitlab.example.org/tea/house' },
  user: { name: 'Ada', username: 'ada' },
};
const mergeRequest = { iid: 7, id: 99, title: 'Fix tea', state: 'opened' };
const pipeline = (status: string): object => ({
  object_kind: 'pipeline',
  object_attributes: {
    id: 31,
    iid: 3,
    name: null,
    ref: 'main',
    status,
    url: 'https://gitlab.example.org/tea/house/-/pipelines/31',
  },
  merge_request: mergeRequest,
  ...gitLab,
});

const grafana = {
  ...alertmanager('firing', [
    {
      ...alert('firing', { instance: 'db1' }, { summary: 'Disk is full' }),
      panelURL: 'https://grafana.example.org/d/1?viewPanel=2',
      valueString: '',
    },
  ]),
  version: '1',
  orgId: 1,
  title: '[FIRING:1] DiskFull (db1)',
  state: 'alerting',
  message: '**Firing**\n\nValue: [no value]',
};
const grafanaTime = '1795860000';

const form = 'application/x-www-form-urlencoded';

const listRequests = (M: string, S: string): readonly Request[] => [
  {
    name: 'curl -d',
    headers: { 'content-type': form },
    body: 'Backups are done: 100% & more\n',
    shown: { title: 'alerts', message: 'Backups are done: 100% & more', renotify: undefined },
    tool: 'text, as for ntfy',
    answer:
      /^\{"id":"[\w-]{12}","time":\d{10},"event":"message","topic":"A[\w-]{14}","title":"alerts","message":"Backups are done: 100% & more"\}$/,
  },
  {
    name: 'curl with what ntfy documents',
    method: 'PUT',
    headers: {
      Title: Buffer.from('Schloß „Tee“').toString('latin1'),
      Priority: 'urgent',
      Tags: 'warning, skull,ops',
      Click: 'https://home.example.org/ü',
      Icon: 'https://styles.example.org/a.png',
      Actions:
        'view, Open portal, https://api.example.org/?a=1, clear=true; http, Turn down, https://api.example.org/, body=\'{"t": 65}\'',
      Email: 'me@example.org',
    },
    body: 'Grün {name}',
    shown: {
      title: '⚠️ 💀 Schloß „Tee“',
      message: 'Grün {name}\n(ops)',
      url: 'https://home.example.org/%C3%BC',
      actions: [{ title: 'Open portal', url: 'https://api.example.org/?a=1', action: '0' }],
    },
    urgency: 'high',
    tool: 'text, as for ntfy',
    leftOut: 'an icon, an e-mail, 1 action',
  },
  {
    name: 'a browser in front of Cloudflare, whose Priority is not ntfy’s',
    path: `${M}/${S}?title=Hello&priority=2`,
    headers: { Priority: 'u=1, i' },
    body: 'text',
    shown: { title: 'Hello', message: 'text' },
    urgency: 'low',
    tool: 'text, as for ntfy',
  },
  {
    name: 'ntfy’s tags, of which GitHub has 1,870; a body counts before the parameter',
    path: `${M}/${S}/`,
    headers: { Tags: 'red_circle,facepalm,constructor,nobody', Message: 'parameter', Actions: '5' },
    body: 'body',
    shown: { title: 'alerts', message: '🔴 🤦 body\n(constructor, nobody)' },
    tool: 'text, as for ntfy',
    leftOut: '1 action',
  },
  {
    name: 'Sonarr, whose body is empty',
    headers: {
      'X-Title': '=?UTF-8?B?U29uYXJyIOKAkyBHcmFi?=',
      'X-Message': 'Tea House - 1x02 [1080p]\\nGrabbed',
      'X-Priority': '3',
      'X-Tags': 'tada',
      'X-Click': 'https://sonarr.example.org',
      'content-length': '0',
    },
    shown: { title: '🎉 Sonarr – Grab', message: 'Tea House - 1x02 [1080p]\nGrabbed' },
    urgency: 'normal',
    tool: 'text, as for ntfy',
  },
  {
    name: 'shoutrrr, as ntfy',
    headers: {
      Title: 'Watchtower',
      Priority: 'Default',
      Tags: '',
      Click: '',
      'X-Icon': '',
      'content-type': 'text/plain',
    },
    body: 'Found new image',
    shown: { title: 'Watchtower', message: 'Found new image' },
    urgency: 'normal',
    tool: 'text, as for ntfy',
  },
  {
    name: 'ntfy with a sequence id, which replaces',
    path: `${M}/${S}/download-1`,
    body: '50 %',
    shown: { message: '50 %', renotify: true, tag: /^bell-1-[\w-]{16}$/ },
    tool: 'text, as for ntfy',
  },
  {
    name: 'a file, as ntfy takes attachments',
    method: 'PUT',
    headers: { Filename: 'flower.jpg' },
    body: Uint8Array.of(0xff, 0xd8, 0xff, 0, 1),
    shown: { message: 'flower.jpg' },
    tool: 'text, as for ntfy',
    leftOut: 'an attachment',
  },
  {
    name: 'Uptime Kuma, Healthchecks and Gatus, as ntfy',
    path: M === '' ? '/' : M,
    body: {
      topic: S,
      title: 'Shop [Uptime-Kuma]',
      message: 'Shop is down',
      priority: 5,
      tags: ['red_circle'],
      actions: [{ action: 'view', label: 'Open Shop', url: 'https://shop.example.org' }],
    },
    shown: {
      title: '🔴 Shop [Uptime-Kuma]',
      message: 'Shop is down',
      actions: [{ title: 'Open Shop', url: 'https://shop.example.org/', action: '0' }],
    },
    urgency: 'high',
    tool: 'ntfy, as JSON',
    answer: /"topic":"A[\w-]{14}"/,
  },
  {
    name: 'a body that is compressed, with the secret in it',
    path: `${M}/`,
    headers: { 'content-type': 'application/json', 'content-encoding': 'GZIP' },
    body: gzipSync(
      JSON.stringify({ extras: { topic: 'A' }, topic: S, message: String.raw`C:\new`, title: 'Copied' }),
    ),
    shown: { title: 'Copied', message: String.raw`C:\new` },
    tool: 'ntfy, as JSON',
  },
  {
    name: 'Home Assistant, which sends every member',
    path: `${M}/`,
    headers: { authorization: `Bearer ${S}` },
    body: {
      topic: 'mytopic',
      message: 'The door is open',
      title: null,
      tags: null,
      priority: null,
      click: null,
      actions: null,
      attach: null,
      delay: null,
    },
    shown: { title: 'alerts', message: 'The door is open', url: undefined },
    tool: 'ntfy, as JSON',
    answer: /"topic":"mytopic"/,
  },
  {
    name: 'Grafana, with Basic',
    path: `${M}/anything`,
    headers: {
      authorization: `Basic ${Buffer.from(`:${S}`).toString('base64')}`,
    },
    body: grafana,
    shown: {
      title: 'DiskFull',
      message: 'Disk is full',
      url: 'https://grafana.example.org/d/1?viewPanel=2',
      renotify: true,
    },
    tool: 'Grafana',
  },
  {
    name: 'Grafana, signed with a time',
    method: 'PUT',
    headers: {
      'X-Time-Of-Mine': grafanaTime,
      'X-Grafana-Alerting-Signature': hmac(S, `${grafanaTime}:${JSON.stringify(grafana)}`),
    },
    body: grafana,
    shown: { title: 'DiskFull' },
    tool: 'Grafana',
  },
  {
    name: 'Alertmanager: several alerts are one notification',
    headers: { 'user-agent': 'Alertmanager/0.34.0' },
    body: alertmanager(
      'firing',
      [
        alert('firing', { instance: 'db1' }, { summary: 'Disk is full', description: 'Nothing is left' }),
        alert('firing', { instance: 'db2' }, { summary: 'Disk of db2 is full' }),
        alert('firing', { instance: 'db3', device: 'sda' }),
        alert('resolved', { instance: 'db4' }, { summary: 'Disk is full' }),
      ],
      { severity: 'critical' },
    ),
    shown: {
      title: 'DiskFull (3)',
      message: 'db1: Disk is full\nDisk of db2 is full\ninstance=db3, device=sda\n1 resolved',
      url: 'http://alertmanager:9093/',
      renotify: true,
      silent: undefined,
    },
    urgency: 'high',
    tool: 'Alertmanager',
  },
  {
    name: 'Alertmanager: a resolved group replaces silently',
    body: alertmanager('resolved', [
      alert('resolved', { instance: 'db1' }, { summary: 'Disk is full', description: 'Nothing is left' }),
    ]),
    shown: {
      title: 'Resolved: DiskFull',
      message: 'Disk is full\nNothing is left',
      url: 'http://prometheus:9090/graph?g0.expr=disk',
      renotify: undefined,
      silent: true,
    },
    urgency: 'low',
    tool: 'Alertmanager',
  },
  {
    name: 'Uptime Kuma: down',
    body: kuma(0, 'Shop'),
    shown: {
      title: 'Shop is down',
      message: 'connect ECONNREFUSED 192.0.2.1:443',
      url: 'https://shop.example.org/',
      renotify: true,
    },
    urgency: 'high',
    tool: 'Uptime Kuma',
  },
  {
    name: 'Uptime Kuma, as a form: up',
    headers: { 'content-type': 'multipart/form-data; boundary=axios-1.6' },
    body: `--axios-1.6\r\nContent-Disposition: form-data; name="data"\r\n\r\n${JSON.stringify(kuma(1, 'Shop'))}\r\n--axios-1.6--\r\n`,
    shown: { title: 'Shop is up', message: '200 - OK', renotify: undefined, silent: true },
    urgency: 'low',
    tool: 'Uptime Kuma',
  },
  {
    name: 'Uptime Kuma by GET',
    method: 'GET',
    path: `${M}/${S}?msg=Testing&heartbeat=null&monitor=null`,
    shown: { title: 'alerts', message: 'Testing', renotify: undefined },
    tool: 'Uptime Kuma',
  },
  {
    name: 'Uptime Kuma: a certificate expires',
    body: {
      ...kuma(1, 'Shop'),
      heartbeat: null,
      msg: '[Shop][https://shop.example.org] Certificate will expire in 7 days',
    },
    shown: { title: 'Shop', message: /expire in 7 days/, renotify: undefined },
    tool: 'Uptime Kuma',
  },
  {
    name: 'GitHub: a pull request',
    headers: {
      'X-GitHub-Event': 'pull_request',
      'X-GitHub-Delivery': 'one',
      'X-Hub-Signature-256': `sha256=${hmac(S, JSON.stringify(pullRequest))}`,
    },
    body: pullRequest,
    shown: {
      title: 'octo/repo',
      message: 'ada opened pull request #7: Fix tea',
      url: 'https://github.com/octo/repo/pull/7',
      renotify: true,
    },
    tool: 'GitHub',
  },
  {
    name: 'GitHub: a comment, as a form',
    headers: { 'content-type': form, 'X-GitHub-Event': 'issue_comment', 'X-GitHub-Delivery': 'two' },
    body: `payload=${encodeURIComponent(JSON.stringify({ ...pullRequest, action: 'created', pull_request: undefined, issue: pullRequest.pull_request, comment: { body: 'Milk?\nSugar?', html_url: 'https://github.com/octo/repo/issues/7#1' } }))}`,
    shown: {
      message: 'ada commented on issue #7: Fix tea\nMilk?',
      url: 'https://github.com/octo/repo/issues/7#1',
    },
    tool: 'GitHub',
  },
  {
    name: 'GitHub: a push',
    headers: { 'X-GitHub-Event': 'push' },
    body: push,
    shown: { title: 'octo/repo', message: 'ada pushed 2 commits to main\nBrew tea', url: push.compare },
    tool: 'GitHub',
  },
  {
    name: 'GitHub: a build that runs',
    headers: { 'X-GitHub-Event': 'workflow_run' },
    body: run('in_progress', null),
    shown: null,
    leftOut: 'it has not ended',
    tool: 'GitHub',
  },
  {
    name: 'GitHub: a build that has failed',
    headers: { 'X-GitHub-Event': 'workflow_run' },
    body: run('completed', 'failure'),
    shown: {
      message: 'CI failure (main)',
      url: 'https://github.com/octo/repo/actions/runs/99',
      renotify: true,
    },
    urgency: 'high',
    tool: 'GitHub',
  },
  {
    name: 'GitHub: ping',
    headers: { 'X-GitHub-Event': 'ping' },
    body: { zen: 'Keep it logically awesome.', hook_id: 1 },
    shown: null,
    leftOut: 'it is a ping: the webhook works',
    tool: 'GitHub',
  },
  {
    name: 'Gitea, which has GitHub’s names too',
    headers: {
      'content-type': form,
      'X-Gitea-Event': 'push',
      'X-Gitea-Signature': hmac(S, JSON.stringify(push)),
      'X-GitHub-Event': 'push',
      'X-Hub-Signature-256': 'sha256=of-the-same-json',
    },
    body: `payload=${encodeURIComponent(JSON.stringify(push))}`,
    shown: { message: 'ada pushed 2 commits to main\nBrew tea' },
    tool: 'Forgejo, Gitea',
  },
  {
    name: 'Gitea by GET',
    method: 'GET',
    path: `${M}/${S}?payload=${encodeURIComponent(JSON.stringify(push))}`,
    headers: { 'X-Gitea-Event': 'push', 'X-Gitea-Signature': hmac(S, JSON.stringify(push)) },
    shown: { message: 'ada pushed 2 commits to main\nBrew tea', tag: /^bell-1-/ },
    tool: 'Forgejo, Gitea',
  },
  {
    name: 'GitHub: a comment on a pull request, which is an issue too',
    headers: { 'X-GitHub-Event': 'issue_comment' },
    body: {
      ...pullRequest,
      pull_request: undefined,
      issue: { ...pullRequest.pull_request, pull_request: { url: '…' } },
      comment: { body: 'Milk?' },
    },
    shown: { message: 'ada commented on pull request #7: Fix tea\nMilk?' },
    tool: 'GitHub',
  },
  {
    name: 'GitLab: a merge request',
    path: M === '' ? '/' : M,
    headers: {
      'X-Gitlab-Event': 'Merge Request Hook',
      'X-Gitlab-Token': S,
      'Idempotency-Key': 'f5e5f430-f57b-4e6e-9fac-d9128cd7232f',
    },
    body: {
      object_kind: 'merge_request',
      ...gitLab,
      object_attributes: { ...mergeRequest, action: 'close', url: 'https://gitlab.example.org/mr/7' },
    },
    shown: {
      title: 'tea/house',
      message: 'ada closed merge request #7: Fix tea',
      url: 'https://gitlab.example.org/mr/7',
      renotify: true,
    },
    tool: 'GitLab',
  },
  {
    name: 'GitLab: a comment',
    headers: { 'X-Gitlab-Event': 'Note Hook' },
    body: {
      object_kind: 'note',
      ...gitLab,
      object_attributes: {
        note: 'Milk?\nSugar?',
        url: 'https://gitlab.example.org/mr/7#note_1',
        action: 'create',
      },
      merge_request: mergeRequest,
      issue: null,
    },
    shown: {
      message: 'ada commented on merge request #7: Fix tea\nMilk?',
      url: 'https://gitlab.example.org/mr/7#note_1',
    },
    tool: 'GitLab',
  },
  {
    name: 'GitLab: a push',
    headers: { 'X-Gitlab-Event': 'Push Hook' },
    body: {
      ...push,
      object_kind: 'push',
      compare: undefined,
      head_commit: undefined,
      repository: { name: 'House' },
      sender: undefined,
      project: gitLab.project,
      user_username: 'ada',
      after: '95790bf891e76fee5e1747ab589903a6a1f80f22',
      total_commits_count: 40,
    },
    shown: {
      title: 'tea/house',
      message: 'ada pushed 40 commits to main\nBrew tea',
      url: 'https://gitlab.example.org/tea/house',
    },
    tool: 'GitLab',
  },
  {
    name: 'GitLab: a pipeline that runs',
    headers: { 'X-Gitlab-Event': 'Pipeline Hook' },
    body: pipeline('running'),
    shown: null,
    leftOut: 'it has not ended',
    tool: 'GitLab',
  },
  {
    name: 'GitLab: a pipeline that has failed',
    headers: { 'X-Gitlab-Event': 'Pipeline Hook' },
    body: pipeline('failed'),
    shown: {
      message: 'pipeline failed (main)',
      url: 'https://gitlab.example.org/tea/house/-/pipelines/31',
      renotify: true,
    },
    urgency: 'high',
    tool: 'GitLab',
  },
  {
    name: 'GitLab: a job that has succeeded',
    headers: { 'X-Gitlab-Event': 'Job Hook' },
    body: {
      object_kind: 'build',
      ref: 'main',
      build_id: 1977,
      build_name: 'test',
      build_status: 'success',
      ...gitLab,
    },
    shown: { title: 'tea/house', message: 'test success (main)', silent: true },
    urgency: 'low',
    tool: 'GitLab',
  },
  {
    name: 'GitLab: a release',
    headers: { 'X-Gitlab-Event': 'Release Hook' },
    body: { object_kind: 'release', id: 1, name: 'v1.1', tag: 'v1.1', action: 'create', ...gitLab },
    shown: { message: 'ada created release: v1.1', url: 'https://gitlab.example.org/tea/house' },
    tool: 'GitLab',
  },
  {
    name: 'Proxmox, as Gotify; with a slash after the address of the server',
    path: `${M}//message`,
    headers: { 'X-Gotify-Key': S, authorization: `Bearer ${S}` },
    body: {
      title: 'vzdump backup status (pve)',
      message: '```\nVMID    Status\n100     ok\n```',
      priority: 9,
      extras: { 'client::display': { contentType: 'text/markdown' } },
    },
    shown: { title: 'vzdump backup status (pve)', message: 'VMID    Status\n100     ok' },
    urgency: 'high',
    tool: 'Gotify',
    answer:
      /^\{"id":\d+,"appid":1,"message":"VMID {4}Status\\n100 {5}ok","title":"vzdump.*","priority":9,"extras":\{\},"date":"20/,
  },
  {
    name: 'Uptime Kuma, as Gotify; of priority 0',
    path: `${M}/message?token=${S}`,
    body: {
      message: 'Up',
      priority: 0,
      title: 'Uptime-Kuma',
      extras: {
        'client::notification': {
          click: { url: 'https://kuma.example.org/' },
          bigImageUrl: 'https://x.example.org/a.png',
        },
      },
    },
    shown: { title: 'Uptime-Kuma', message: 'Up', url: 'https://kuma.example.org/', silent: true },
    urgency: 'very-low',
    tool: 'Gotify',
    answer: /"appid":1/,
    leftOut: 'an image',
  },
  {
    name: 'Gotify’s own curl -F',
    path: `${M}/message?token=${S}`,
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    body: '--x\r\nContent-Disposition: form-data; name="title"\r\n\r\nmy title\r\n--x\r\nContent-Disposition: form-data; name="message"\r\n\r\nmy message\r\n--x\r\nContent-Disposition: form-data; name="priority"\r\n\r\n5\r\n--x--\r\n',
    shown: { title: 'my title', message: 'my message' },
    urgency: 'normal',
    tool: 'Gotify',
    answer: /"priority":5/,
  },
  {
    name: 'Apprise, as JSON, with an attachment',
    headers: { 'user-agent': 'Apprise' },
    body: {
      version: '1.0',
      title: 'Sync',
      message: 'It failed',
      attachments: [{ filename: 'a.log', base64: 'YQ==', mimetype: 'text/plain' }],
      type: 'failure',
    },
    shown: { title: 'Sync', message: 'It failed' },
    urgency: 'high',
    tool: 'Apprise',
    leftOut: '1 attachment',
  },
  {
    name: 'a webhook as for Slack',
    body: {
      channel: '#ops',
      username: 'Alertmanager',
      text: 'See <https://ops.example.org/1|the page> &amp; wait',
      attachments: [
        {
          title: 'DiskFull',
          title_link: 'https://ops.example.org/2',
          text: 'db1',
          fallback: '[FIRING]',
          color: 'danger',
        },
      ],
    },
    shown: { title: 'DiskFull', message: 'See the page & wait\ndb1', url: 'https://ops.example.org/2' },
    tool: 'as for Slack',
    answer: /^ok$/,
  },
  {
    name: 'a webhook as for Discord',
    body: {
      content: 'Hello',
      embeds: [{ title: 'Build 7', description: 'has failed', url: 'https://ci.example.org/7', color: 1 }],
    },
    shown: { title: 'Build 7', message: 'Hello\nhas failed', url: 'https://ci.example.org/7' },
    tool: 'as for Discord',
    answer: /^$/,
  },
  {
    name: 'Home Assistant’s notify.rest',
    body: { message: 'The washing is done', title: 'Home' },
    shown: { title: 'Home', message: 'The washing is done' },
    tool: 'other JSON, or a form',
  },
  {
    name: 'a form',
    headers: { 'content-type': form },
    body: 'subject=Mail&body=Tea%20is%20ready&link=javascript%3Aalert(1)',
    shown: { title: 'Mail', message: 'Tea is ready', url: undefined },
    tool: 'other JSON, or a form',
  },
  {
    name: 'JSON that nobody knows, with the wrong type',
    headers: { 'content-type': 'text/plain' },
    body: { alert: { host: 'db1', level: 3, on: true, also: [{ a: null }] }, key: S },
    shown: {
      title: 'alerts',
      message: '{"alert":{"host":"db1","level":3,"on":true,"also":[{"a":null}]},"key":"…"}',
    },
    tool: 'unknown JSON',
    shape: '{alert: {host: text, level: number, on: boolean, also: [{a: null}]}, key: text}',
  },
  {
    name: 'JSON that is an array; NUL, halves of characters and depth in what is noted',
    body: `[{"a\\u0000\\ud800": ${'['.repeat(200_000)}${']'.repeat(200_000)}}, 1]`,
    shown: { title: 'alerts', message: /^\[\{"a\\u0000\\ud800": \[{3000}/ },
    tool: 'unknown JSON',
    shape: '[{a\ufffd: [[…]]}]',
  },
  {
    name: 'a link that is opened with a message',
    method: 'GET',
    path: `${M}/${S}?message=Hello`,
    shown: { message: 'Hello' },
    tool: 'text, as for ntfy',
  },
  {
    name: 'ntfy’s GET',
    method: 'GET',
    path: `${M}/${S}/trigger`,
    shown: { message: 'triggered' },
    tool: 'text, as for ntfy',
  },
  {
    name: 'ntfy’s ?auth=',
    path: `${M}/mytopic?auth=${Buffer.from(`Basic ${Buffer.from(`${S}:`).toString('base64')}`).toString('base64url')}`,
    body: 'Hello',
    shown: { message: 'Hello' },
    tool: 'text, as for ntfy',
    answer: /"topic":"mytopic"/,
  },
];

export const requestsOf = (M: string, S: string): readonly ToolRequest[] =>
  listRequests(M, S).map(({ headers, ...request }) => {
    const isJson = typeof request.body === 'object' && !(request.body instanceof Uint8Array);
    const type = isJson ? { 'content-type': 'application/json' } : {};
    return { path: `${M}/${S}`, headers: { ...type, ...headers }, ...request };
  });
