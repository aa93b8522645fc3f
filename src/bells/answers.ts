// The responses to tools. Some tools fail unless the status is 200 and the body is JSON without unknown members.
import { randomBytes } from 'node:crypto';
import { type BellError, type Posted, type RequestHead, textOf } from './posted.ts';

export interface Answer {
  readonly status: number;
  readonly type: 'application/json' | 'text/plain';
  readonly body: string;
}

const json = (body: object, status = 200): Answer => ({
  status,
  type: 'application/json',
  body: JSON.stringify(body),
});

/** Errors in the formats that clients of Gotify and ntfy expect. ntfy's format allows no other members. */
export const answerError = ({ path }: RequestHead, { status, code, message }: BellError): Answer =>
  json(
    path[0] === 'message'
      ? { error: 'The bell did not ring', errorCode: status, errorDescription: message }
      : { code, http: status, error: message },
    status,
  );

/** What Deskbell made of a request to a bell: a notification's title and text, and the outcome. */
export interface Made {
  readonly title: string;
  readonly text: string;
  readonly outcome: string;
  readonly broadcastId: number | undefined;
  readonly bellId: number;
  readonly nowMs: number;
}

export const answers = {
  JSON: ({ outcome }: Made): Answer => json({ outcome }),
  ntfy: ({ title, text: message, nowMs }: Made, { path, fields }: Posted): Answer =>
    ntfyEvent('message', nowMs, path[0] ?? fields?.['topic'], { title, message }),
  Gotify: (
    { title, text: message, broadcastId: id = 0, bellId: appid, nowMs }: Made,
    { fields }: Posted,
  ): Answer => {
    const priority = Number(textOf(fields?.['priority'])) || 0;
    return json({ id, appid, message, title, priority, extras: {}, date: new Date(nowMs).toISOString() });
  },
  Slack: (): Answer => ({ status: 200, type: 'text/plain', body: 'ok' }),
  Discord: (): Answer => ({ status: 204, type: 'text/plain', body: '' }),
};

/** A response in the form of an ntfy event, whose id has 12 characters. */
export const ntfyEvent = (event: string, nowMs: number, topic: unknown, members: object): Answer =>
  json({
    id: randomBytes(9).toString('base64url'),
    time: Math.floor(nowMs / 1000),
    event,
    topic: textOf(topic) ?? '',
    ...members,
  });
