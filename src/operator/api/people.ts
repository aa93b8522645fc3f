// /v1/people/{user}: what the application says of a person, and what the person has chosen.
import type { ServiceApp } from '../../http/service-app.ts';
import { personChangeSchema, personView } from '../../operations/person.ts';
import type { OperatorContext } from '../context.ts';
import { operationsOf, userParams } from './operations.ts';

export function addPeopleRoutes(app: ServiceApp, { store: { readers }, hashPerson }: OperatorContext): void {
  const operations = operationsOf(app, 'Subscriptions');

  operations.add('GET /v1/people/:user', {
    operationId: 'getPerson',
    summary: 'What is known of a person',
    description: 'Without data and choices where nothing has been set.',
    params: userParams,
    answer: personView,
    errors: ['ERR_FIELD_VALUE'],
    handle: async ({ params: { user } }) => personView.toJson(await readers.person(user)),
  });

  operations.add('PATCH /v1/people/:user', {
    operationId: 'updatePerson',
    summary: 'Sets data, language, time zone and choices of a person',
    description:
      'They hold before those of the person’s subscriptions. DELETE /v1/subscriptions?user= removes them too.',
    params: userParams,
    body: personChangeSchema,
    answer: personView,
    errors: ['ERR_CHANNEL_NOT_FOUND', 'ERR_FIELD_VALUE', 'ERR_FIELD_TYPE'],
    audit: { action: 'person.update', target: ({ params: { user } }) => `user ${hashPerson(user)}` },
    handle: async ({ params: { user }, body }) => personView.toJson(await readers.setPerson(user, body)),
  });
}
