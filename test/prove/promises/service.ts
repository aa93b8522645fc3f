// Promises of docs/service.md.
import type { DocumentedPromise } from '../promise.ts';

const registrations = 'test/store/registration-suite.ts';
const right = 'src/store/registration-right.ts';
const functions = 'src/store/postgres/functions/subscriptions.sql';

const registration = 'src/service/push/registration.ts';
const ask = 'const assign = await askApplication(registration, request, settings);';

const invitationTest = 'test/service/invitations.test.ts';
const invitationSuite = 'test/store/invitations-suite.ts';
const admission = 'src/service/push/invitation.ts';
const invitations = 'src/store/invitations.ts';

export const servicePage: readonly DocumentedPromise[] = [
  {
    claim:
      'The service is whole in an application, whatever that has told its router of slashes, letters and semicolons',
    test: {
      file: 'test/service/embedding.test.ts',
      title: 'is whole whatever the application has told its router',
    },
    changes: {
      'src/http/spellings.ts': {
        'a second spelling of a path is refused as a duplicate': [
          "if ((error as { readonly code?: unknown }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error;",
          'throw error;',
        ],
      },
      'src/http/wildcard-param.ts': {
        'a slash at the end is part of a parameter': [
          ".flatMap((end) => [end, end.replace(/\\/+$/, '')])",
          '',
        ],
      },
    },
  },
  {
    claim:
      'An error of onSubscribe with a statusCode is answered with it, and with its message only where that is for clients',
    test: {
      file: 'test/service/registrations.test.ts',
      title: 'is answered with the status of an error that has one',
    },
    changes: {
      'src/http/fastify-errors.ts': {
        'every refusal is a 400': ['refusals[statusCode] ??', ''],
        'every message is for clients': ['isRefusal && expose === true', 'isRefusal'],
      },
    },
  },
  {
    claim: 'Without a mount path the middleware leaves unknown paths to what comes after it',
    test: {
      file: 'test/service/express.test.ts',
      title: 'without a mount path leaves what it does not know',
    },
    changes: {
      'src/service/create-middleware.ts': {
        'it answers every path': ['next !== undefined && isAtRoot(request) &&', 'false &&'],
        'it waits for the answers of others': ['open.delete(response);\n      return next', 'return next'],
      },
    },
  },
  {
    claim:
      '`onUnsubscribe` is called once a client has removed its row, and where nothing was removed it is not',
    test: {
      file: 'test/service/http.test.ts',
      title: 'tells the application of a removed subscription once',
    },
    changes: {
      'src/service/push/web-push.ts': {
        'it is called for any auth': [
          'if (isRemoved && stored !== undefined) await',
          'if (stored !== undefined) await',
        ],
      },
    },
  },
  {
    claim: 'Other keys for an endpoint that is stored are refused without a proof, and change nothing',
    test: { file: registrations, title: 'other keys for a known endpoint' },
    changes: {
      [right]: {
        'knowing the endpoint is enough': ['if (!hasRight(row, registration)) throw endpointInUse();', ''],
        'the `auth` of any subscription is enough': ['isOfRow ? former.auth : undefined', 'former?.auth'],
      },
      [functions]: {
        'knowing the endpoint is enough': ["not coalesce(given.options ? 'proof', false)", 'true'],
      },
    },
  },
  {
    claim: 'Other keys for an endpoint are taken with the stored `auth`, or from the user of the row',
    test: { file: registrations, title: 'other keys are taken with' },
    changes: {
      [right]: {
        'the stored `auth` is not enough': ['(auth !== undefined && isSameSecret(row.auth, auth)) ||', ''],
        'its user is not enough': ['(user !== undefined && row.user === user)', 'false'],
      },
      [functions]: {
        'its user is not enough': ["or coalesce(s.user_name = given.options #>> '{proof,user}', false)", ''],
      },
    },
  },
  {
    claim: 'What onSubscribe refuses leaves no row, changes none, and is not on the console',
    test: { file: 'test/service/registrations.test.ts', title: 'leaves no row and changes none' },
    changes: {
      [registration]: {
        'the row is stored before': [ask, `await store.subscriptions.register(registration); ${ask}`],
        'its line is written before': [ask, `report(registration.subscription, keys); ${ask}`],
      },
    },
  },
  {
    claim: 'In an application the log has no keys and no endpoint of a subscription',
    test: {
      file: 'test/service/application-session.test.ts',
      title: 'the log has no keys and no endpoint of a subscription',
    },
    changes: {
      'src/service/options.ts': {
        'in Fastify it has': ['{ ...asServer, redactSubscriptions: true }', 'asServer'],
      },
      'src/service/create-middleware.ts': {
        'in Express it has': ['redactSubscriptions: true,', 'redactSubscriptions: false,'],
      },
    },
  },
  {
    claim: 'A kill -9 loses no line of a registration that was acknowledged',
    test: { file: 'test/service/registrations.test.ts', title: 'the console line is written out' },
    changes: {
      [registration]: {
        'lines wait for others after the 200': ['await writeOut();', ''],
        'a line is written before its row is stored': [
          ask,
          `report(registration.subscription, keys); await writeOut(); ${ask}`,
        ],
      },
    },
  },
  {
    claim: 'With `registrations: invited`, nothing is stored of a browser without an invitation',
    test: { file: invitationTest, title: 'without an invitation nothing is stored' },
    changes: {
      [admission]: {
        'a new browser is let in': ['if (await isRegistered(registration)) return', 'return'],
      },
    },
  },
  {
    claim: 'With `registrations: invited`, a browser may register again and renew its subscription',
    test: { file: invitationTest, title: 'who is registered may register again and renew' },
    changes: {
      [admission]: {
        'registering again needs an invitation': ['return hasRight(row, registration)', 'return false'],
        'renewing needs an invitation': ['return formerRow !== undefined &&', 'return false &&'],
        'any former subscription is a proof': ['isSameSecret(formerRow.auth, former!.auth)', 'true'],
      },
    },
  },
  {
    claim: 'Of several registrations with one invitation, one is stored',
    test: { file: invitationSuite, title: 'of registrations at once, in two processes, one is stored' },
    changes: {
      [invitations]: {
        'it is not consumed': ['(consumed_by is null or consumed_by = :endpointHash)', 'true'],
      },
      'src/store/postgres/subscriptions.ts': {
        'it is not looked at': ['if (consumed.length === 0) throw notInvited();', ''],
      },
    },
  },
  {
    claim: 'An invitation works once, also where the subscription was stored before',
    test: { file: invitationSuite, title: 'it is consumed by a subscription that is there' },
    changes: {
      'src/store/sqlite/subscriptions.ts': {
        'that does not consume it': [
          'if (registration.invitation !== undefined) consume',
          'if (registration.invitation !== undefined && row === undefined) consume',
        ],
      },
    },
  },
  {
    claim: 'A registration that fails consumes no invitation',
    test: { file: invitationSuite, title: 'a registration that fails leaves it as it was' },
    changes: {
      'src/store/postgres/subscriptions.ts': {
        'it is consumed before': [
          'const [stored] = await putRows([row], query);',
          "await query('commit'); const [stored] = await putRows([row], query);",
        ],
      },
    },
  },
  {
    claim: 'An invitation expires after ten minutes',
    test: { file: invitationSuite, title: 'it expires, and is forgotten then' },
    changes: { [invitations]: { 'it never does': ['expires_at_ms > :nowMs and ', ''] } },
  },
  {
    claim: 'The link of an invitation, opened in a browser, subscribes it as the user whom it invites',
    test: {
      file: 'test/browser/invitation-suite.ts',
      title: 'the link of an invitation subscribes the browser that opens it',
    },
    changes: {
      'src/client/service-api.ts': {
        'its token is not sent': ["'deskbell-invitation': this.invitation", ''],
      },
      'src/service/create-service.ts': {
        'with pushOnly there is no page': [" || settings.registrations === 'invited'", ''],
      },
    },
  },
  {
    claim:
      'An app that is added to the Home Screen from the link of an invitation starts with the invitation',
    test: {
      file: 'test/browser/chromium.test.ts',
      title: 'the demo page can be installed, on a Home Screen too',
    },
    changes: {
      'src/service/demonstration/demo-page.ts': { 'the manifest has a start URL': ['start_url: _, ', ''] },
      'src/client/demo/demo.ts': { 'the manifest is the usual one': ["invitation() ? 'inv", "false ? 'inv"] },
    },
  },
  {
    claim: 'A wrong auth changes no choice, and is answered as for a reader who has chosen nothing',
    test: { file: 'test/service/channels.test.ts', title: 'a wrong auth changes nothing' },
    changes: {
      'src/service/push/channels.ts': {
        'any auth will do': ['row && authBytes && isSameSecret(row.auth, authBytes) ? row', 'row ? row'],
      },
    },
  },
  {
    claim: 'A subscriber token says who the reader is, whatever the body has',
    test: { file: 'test/service/channels.test.ts', title: 'the person who is signed in chooses' },
    changes: {
      'src/service/push/channels.ts': {
        'the subscription does': ['? own : { ...own, user };', '? own : (own ?? { user });'],
      },
    },
  },
  {
    claim:
      'A choice for a channel that there is none of is a 400 that names it, also where it was just removed',
    test: {
      file: 'test/service/channels.test.ts',
      title: 'a channel that is removed while it is being chosen',
    },
    changes: {
      'src/service/push/channels.ts': {
        'it is a 500': [
          ' || cause.fields.length === 0) throw cause;',
          ' || cause.fields.length > 0) throw cause;',
        ],
      },
    },
  },
  {
    claim: 'The titles of channels are in the first language of Accept-Language, if they have it',
    test: { file: 'test/service/channels.test.ts', title: 'answers with all channels, and their titles' },
    changes: {
      'src/service/push/channels.ts': {
        'they are in none': [
          'chooseLanguage(wanted, new Set(Object.keys(titles)))',
          'chooseLanguage(undefined, new Set(Object.keys(titles)))',
        ],
      },
    },
  },
  {
    claim: 'One client address may ask for its channels as often as it may register',
    test: {
      file: 'test/service/channels.test.ts',
      title: 'one client address may ask so many times a minute',
    },
    changes: {
      'src/service/push/channels.ts': {
        'it may ask for ever': ["rateLimit: limitPerMinute(registrationsPerMinute, 'ask for channels'),", ''],
      },
    },
  },
  {
    claim: '`close()` of the handler of `createMiddleware` waits for requests in progress',
    test: { file: 'test/service/express.test.ts', title: 'closes once what is in progress is answered' },
    changes: {
      'src/service/create-middleware.ts': {
        'it waits for none': ['await Promise.all(Array.from(open, isClosed));', ''],
      },
    },
  },
  {
    claim:
      'Services on one PostgreSQL database take sixty new subscriptions of a push service a minute together',
    test: {
      file: 'test/service/several-services.test.ts',
      title: 'take together no more subscriptions of a push service',
    },
    changes: {
      'src/service/push/unlisted-push-services.ts': {
        'each counts for itself': [
          'createClientLimits(store.clientRequests)',
          'createClientLimits(undefined)',
        ],
      },
    },
  },
  {
    claim: 'A message that ntfy answers with 507 expires with a shorter TTL, and its subscription stays',
    test: {
      file: 'test/delivery/unlisted-push-services.test.ts',
      title: '507 for a topic without a subscriber ends the message alone',
    },
    changes: {
      'src/delivery/worker/record.ts': {
        'it is gone': [
          'outcome.isGoneAtLast && attempt >= settings.retryPolicy.maxAttempts)',
          'outcome.isGoneAtLast && settings.now() + outcome.afterMs! >= expiryOf(row))',
        ],
      },
    },
  },
  {
    claim: 'A session is valid for a day',
    test: { file: 'test/service/session.test.ts', title: 'is valid for a day' },
    changes: {
      'src/service/demonstration/create-session-cookie.ts': {
        'it is for longer': ['.seal(session, lifetimeSeconds)', '.seal(session, 30 * lifetimeSeconds)'],
      },
    },
  },
  {
    claim: 'Registrations that are stored together share one write of the log',
    test: { file: 'test/service/registrations.test.ts', title: 'the console line is written out' },
    changes: {
      [registration]: {
        'each has its own': ['return () => (next ??= writeOut());', 'return () => writeOut();'],
      },
    },
  },
  {
    claim: 'An unknown channel gets a 400 whether the subscription is stored or not',
    test: { file: 'test/service/channels.test.ts', title: 'a channel that there is none of is a 400' },
    changes: {
      'src/service/push/channels.ts': {
        'only a stored one gets it': [
          'checkKnownChoices(choices, known,',
          'if (reader !== undefined) checkKnownChoices(choices, known,',
        ],
      },
    },
  },
  {
    claim: "ntfy's 507 for a topic without a subscriber is recognized at a listed push service too",
    test: {
      file: 'test/delivery/unlisted-push-services.test.ts',
      title: '507 for a topic without a subscriber means the same',
    },
    changes: {
      'src/protocol/outcome.ts': {
        'it is one of an unlisted push service alone': [
          'if (isWithoutSubscriber(response))',
          'if (isUnlisted && isWithoutSubscriber(response))',
        ],
      },
    },
  },
];
