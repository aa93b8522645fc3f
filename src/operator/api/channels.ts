// /v1/channels: lists, makes, changes and removes what readers switch on and off.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { channelBody, channelNameSchema, channelView } from '../../operations/channel.ts';
import { watchers } from '../authorize.ts';
import type { OperatorContext } from '../context.ts';
import { operationsOf } from './operations.ts';

const params = { name: { ...channelNameSchema, description: 'The channel, percent-encoded.' } };

export function addChannelRoutes(app: ServiceApp, { store: { channels } }: OperatorContext): void {
  const operations = operationsOf(app, 'Subscriptions');

  operations.addNamedList('/v1/channels', {
    operationId: 'listChannels',
    summary: 'Channels: what readers switch on and off',
    roles: watchers,
    view: channelView,
    nameOf: ({ name }) => name,
    read: () => channels.list(),
  });

  operations.add('PUT /v1/channels/:name', {
    operationId: 'putChannel',
    summary: 'Makes a channel, or replaces the one of this name',
    description: 'Choices that readers have made stay.',
    params,
    body: channelBody,
    answer: channelView,
    errors: ['ERR_FIELD_VALUE', 'ERR_FIELD_TYPE'],
    audit: { action: 'channel.put', target: ({ params: { name } }) => `channel ${name}` },
    handle: async ({ params: { name }, body: { title, titles = {}, isOnByDefault = true } }) =>
      channelView.toJson(await channels.put({ name, title, titles, isOnByDefault })),
  });

  operations.add('DELETE /v1/channels/:name', {
    operationId: 'removeChannel',
    summary: 'Removes a channel',
    description:
      'Readers no longer see it, and no new broadcast can be sent to it. Their choices stay stored, and hold again if a channel of ' +
      'this name is made anew.',
    params,
    errors: ['ERR_CHANNEL_NOT_FOUND'],
    audit: { action: 'channel.remove', target: ({ params: { name } }) => `channel ${name}` },
    handle: async ({ params: { name } }) => {
      if (await channels.remove(name)) return;
      throw new DeskbellError('ERR_CHANNEL_NOT_FOUND', `There is no channel "${name}".`);
    },
  });
}
