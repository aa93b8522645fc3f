// Promises of docs/people.md on channels, what is known of a person, subscriber tokens and what moves along.
import type { DocumentedPromise } from '../promise.ts';

const readers = 'test/store/readers-suite.ts';
const owners = 'test/store/people-suite.ts';
const tokens = 'test/service/subscriber-token.test.ts';
const commands = 'test/cli/people.test.ts';
const names = 'test/audience/user-and-tags.test.ts';
const namesOf = 'src/audience/user-and-tags.ts';
const readersOf = 'src/store/readers.ts';
const token = 'src/service/push/subscriber-token.ts';
const formerInSqlite = 'src/store/sqlite/former-subscription.ts';
const formerInPostgres = 'src/store/postgres/functions/former-subscription.sql';

export const knownOfPeople: readonly DocumentedPromise[] = [
  {
    claim: 'There are at most 100 channels',
    test: { file: readers, title: 'are limited in number' },
    changes: {
      'src/store/channels.ts': {
        'there may be one more': ['others.length >= maxChannels', 'others.length > maxChannels'],
        'the last one cannot be changed': ['where name <> :name', 'where :name is not null'],
      },
    },
  },
  {
    claim: 'Choices for a channel that is removed hold again where one of its name is made',
    test: { file: readers, title: 'has a choice again where its channel is made anew' },
    changes: {
      [readersOf]: {
        'they go with the next choice': [
          'if (merged.length <= maxChannels) return',
          'if (merged.length < 0) return',
        ],
      },
    },
  },
  {
    claim: 'Choices for channels that were removed stay stored as long as a reader has at most 100',
    test: { file: readers, title: 'are limited in number' },
    changes: {
      [readersOf]: {
        'of a reader without a person all go': [
          'mergeChoices(readChoices(row?.channels ?? null), change, known)',
          'mergeChoices(readChoices(row?.channels ?? null), change, [])',
        ],
        'of 100 they go': ['if (merged.length <= maxChannels)', 'if (merged.length < maxChannels)'],
        'they stay however many there are': ['if (merged.length <= maxChannels)', 'if (merged.length > 0)'],
      },
    },
  },
  {
    claim: 'Of two choices that a reader makes at a time, none is lost',
    test: { file: readers, title: 'of two choices at a time loses none' },
    changes: {
      [readersOf]: {
        'the later one replaces all': [
          'mergeChoices(readChoices(row?.channels ?? null), change, known)',
          'mergeChoices({}, change, known)',
        ],
        'the later one replaces all of a person': [
          'mergeChoices(former.channels, change.channels, known)',
          'mergeChoices({}, change.channels, known)',
        ],
      },
    },
  },
  {
    claim: 'What a change of a person does not name stays, and null clears a member, a value or a choice',
    test: { file: readers, title: 'is changed member by member' },
    changes: {
      [readersOf]: {
        'other values go': ['withoutNull({ ...former, ...change })', 'withoutNull({ ...change })'],
        'the language goes': ['change.language === undefined ? former', 'change.language === null ? former'],
        'the time zone goes': [
          'change.timeZone === undefined ? former.timeZone : (change.timeZone ?? undefined)',
          'change.timeZone ?? undefined',
        ],
        'a person may have any name': [
          "setPerson(checkUser(user, '/user'), change",
          'setPerson(user, change',
        ],
        'null does not clear data': ['(change === null ? {} :', '(change === null ? former :'],
      },
    },
  },
  {
    claim: 'The data of a person has at most 1 KB as JSON, after each change',
    test: { file: readers, title: 'cannot have too much data' },
    changes: {
      [readersOf]: { 'each change is looked at by itself': ["checkDataSize(changed.data, '/data');", ''] },
      'src/audience/reader-facts.ts': {
        'it is more': ['const maxDataBytes = 1024;', 'const maxDataBytes = 2048;'],
      },
    },
  },
  {
    claim: 'The data of a person may have 1 KB as JSON',
    test: { file: 'test/audience/readers.test.ts', title: 'may have data of 1024 bytes' },
    changes: {
      'src/audience/reader-facts.ts': {
        'one byte less': ['if (bytes <= maxDataBytes)', 'if (bytes < maxDataBytes)'],
      },
    },
  },
  {
    claim:
      'The name of a value in the data of a person has at most 32 letters, digits and `_`, no digit first',
    test: { file: 'test/audience/readers.test.ts', title: 'what is known of a person' },
    changes: {
      'src/protocol/message/placeholders.ts': {
        'it may have one more': ['{0,31}', '{0,32}'],
        'it may have one less': ['{0,31}', '{0,30}'],
        'it may begin with a digit': ['[A-Za-z_][A-Za-z0-9_]{0,31}', '[A-Za-z0-9_]{1,32}'],
      },
    },
  },
  {
    claim: 'A text in the data of a person has at most 200 characters, however many bytes these are',
    test: { file: 'test/audience/readers.test.ts', title: 'may have data of 1024 bytes' },
    changes: {
      'src/audience/reader-facts.ts': {
        'characters beyond the basic plane are two': ['Array.from(value).length', 'value.length'],
        'it may have one more': ['> maxTextCharacters ||', '> maxTextCharacters + 1 ||'],
      },
    },
  },
  {
    claim: 'A browser whose registration is refused with a 401 is not subscribed any more',
    test: {
      file: 'test/browser/demo-page-suite.ts',
      title: 'a subscription is whose the token says',
    },
    changes: {
      'src/client/subscription.ts': { 'it stays subscribed': ['[400, 401, 403]', '[400, 403]'] },
    },
  },
  {
    claim: 'A registration that does not say language, time zone or choices leaves them as they are',
    test: { file: readers, title: 'keeps language, time zone and choices' },
    changes: {
      'src/store/sqlite/subscriptions.ts': {
        'the language goes': ['coalesce(excluded.language, subscriptions.language)', 'excluded.language'],
        'the time zone goes': ['coalesce(excluded.time_zone, subscriptions.time_zone)', 'excluded.time_zone'],
        'the choices go': [
          'iif(excluded.channels is null, subscriptions.channels,',
          'iif(excluded.channels is null, null,',
        ],
      },
      'src/store/postgres/functions/subscriptions.sql': {
        'the language goes': [
          "coalesce(given.options ->> 'language', s.language)",
          "given.options ->> 'language'",
        ],
      },
    },
  },
  {
    claim: 'A registration that says another language or time zone replaces them',
    test: { file: readers, title: 'keeps language, time zone and choices' },
    changes: {
      'src/store/sqlite/subscriptions.ts': {
        'the first language stays': [
          'coalesce(excluded.language, subscriptions.language)',
          'coalesce(subscriptions.language, excluded.language)',
        ],
        'the first time zone stays': [
          'coalesce(excluded.time_zone, subscriptions.time_zone)',
          'coalesce(subscriptions.time_zone, excluded.time_zone)',
        ],
      },
      'src/store/postgres/functions/subscriptions.sql': {
        'the first language stays': [
          "coalesce(given.options ->> 'language', s.language)",
          "coalesce(s.language, given.options ->> 'language')",
        ],
        'the first time zone stays': [
          "coalesce(given.options ->> 'timeZone', s.time_zone)",
          "coalesce(s.time_zone, given.options ->> 'timeZone')",
        ],
      },
    },
  },
  {
    claim:
      'Language, time zone and choices move to the subscription that takes the place, unless it has its own',
    test: { file: readers, title: 'takes them along to the subscription' },
    changes: {
      [formerInSqlite]: {
        'they do not move': ['moveFacts.run({', 'if (id < 0) moveFacts.run({'],
        'they replace its own': [
          'coalesce(subscriptions.language, f.language)',
          'coalesce(f.language, subscriptions.language)',
        ],
      },
      [formerInPostgres]: {
        'the time zone does not move': ['coalesce(s.time_zone, moved.time_zone)', 's.time_zone'],
        'they replace its own': [
          'coalesce(s.language, moved.language)',
          'coalesce(moved.language, s.language)',
        ],
      },
    },
  },
  {
    claim: 'Language, time zone and choices move each by itself',
    test: { file: readers, title: 'takes along each of them by itself' },
    changes: {
      [formerInSqlite]: {
        'choices stay': ['coalesce(subscriptions.channels, f.channels)', 'subscriptions.channels'],
      },
      [formerInPostgres]: {
        'none without a language': [
          'coalesce(moved.language, moved.time_zone, moved.channels)',
          'moved.language',
        ],
        'choices alone stay': [
          'coalesce(moved.language, moved.time_zone, moved.channels)',
          'coalesce(moved.language, moved.time_zone)',
        ],
      },
    },
  },
  {
    claim:
      'A broadcast goes by the choice of the person, else by that of the subscription, else by the default',
    test: {
      file: 'test/store/split-audiences-suite.ts',
      title: 'a channel that is off by default reaches those who have chosen it',
    },
    changes: {
      'src/store/sqlite/audiences.ts': {
        'that of the subscription holds first': [
          'coalesce(p.channels ->> :channel, s.channels ->> :channel, :isOn)',
          'coalesce(s.channels ->> :channel, p.channels ->> :channel, :isOn)',
        ],
        'that of the subscription means nothing': [
          'coalesce(p.channels ->> :channel, s.channels ->> :channel, :isOn)',
          'coalesce(p.channels ->> :channel, :isOn)',
        ],
        'a dot in the name of a channel leads elsewhere': [
          'coalesce(p.channels ->> :channel, s.channels ->> :channel, :isOn)',
          "coalesce(p.channels ->> ('$.' || :channel), s.channels ->> ('$.' || :channel), :isOn)",
        ],
      },
      'src/store/postgres/member-finder.ts': {
        'that of the subscription holds first': [
          'coalesce((p.channels::jsonb ->> $2)::boolean, (s.channels::jsonb ->> $2)::boolean, $3)',
          'coalesce((s.channels::jsonb ->> $2)::boolean, (p.channels::jsonb ->> $2)::boolean, $3)',
        ],
        'that of the subscription means nothing': [
          'coalesce((p.channels::jsonb ->> $2)::boolean, (s.channels::jsonb ->> $2)::boolean, $3)',
          'coalesce((p.channels::jsonb ->> $2)::boolean, $3)',
        ],
      },
    },
  },
  {
    claim: 'What `channels set` and `people set` are not given stays, and an empty text clears',
    test: { file: commands, title: 'channels are made and removed' },
    changes: {
      'src/cli/commands/channels.ts': {
        'the default is on again': ['(known?.isOnByDefault ?? true)', 'true'],
        'other titles go': ['{ ...known?.titles, ...flags.titleIn }', '{ ...flags.titleIn }'],
        'an empty title is kept': ["titles.filter(([, text]) => text !== '')", 'titles'],
      },
      'src/cli/commands/people.ts': {
        'the time zone stays': ["flags.timezone === '' ? null", "flags.timezone === '' ? undefined"],
        'of several choices the last one counts': [
          'return { ...former, [name]: choices',
          'return { [name]: choices',
        ],
        'nothing switches a channel on': ['{ on: true, off: false,', '{ on: false, off: false,'],
      },
    },
  },
  {
    claim: 'Of tags that are added to a subscription at a time none is lost',
    test: { file: owners, title: 'of tags that are added at a time none is lost' },
    changes: {
      'src/store/postgres/people.ts': { 'the last one stays': ['where id = $1 for update', 'where id = $1'] },
    },
  },
  {
    claim: 'An export has no data of persons',
    test: { file: commands, title: 'export and import carry language, time zone and choices' },
    changes: {
      'src/cli/input/subscription-line.ts': {
        'it has': ['    language: facts.language,', '    data: facts.data, language: facts.language,'],
      },
    },
  },
  {
    claim: '`deskbell send` shows how many were found while it waits for the audience',
    test: { file: 'test/cli/show-progress.test.ts', title: 'while the audience is prepared' },
    changes: {
      'src/cli/send/format-progress.ts': {
        'it shows a bar': ["if (broadcast.state === 'preparing') return formatPreparation(broadcast);", ''],
      },
    },
  },
  {
    claim: 'A subscription keeps its own language, time zone and choices where it takes the place of another',
    test: { file: readers, title: 'takes nothing along in the place of what it has' },
    changes: {
      [formerInSqlite]: {
        'another time zone replaces it': [
          'coalesce(subscriptions.time_zone, f.time_zone)',
          'coalesce(f.time_zone, subscriptions.time_zone)',
        ],
        'other choices replace them': [
          'coalesce(subscriptions.channels, f.channels)',
          'coalesce(f.channels, subscriptions.channels)',
        ],
        'other choices come beside them': [
          'coalesce(subscriptions.channels, f.channels)',
          "json_patch(coalesce(f.channels, '{}'), coalesce(subscriptions.channels, '{}'))",
        ],
      },
      [formerInPostgres]: {
        'another time zone replaces it': [
          'coalesce(s.time_zone, moved.time_zone)',
          'coalesce(moved.time_zone, s.time_zone)',
        ],
        'other choices replace them': [
          'coalesce(s.channels, moved.channels)',
          'coalesce(moved.channels, s.channels)',
        ],
      },
    },
  },
  {
    claim: 'User and tags move to the subscription that takes the place of another, with its `auth` only',
    test: { file: owners, title: 'they move to the subscription that takes the place of a former one' },
    changes: {
      [formerInSqlite]: {
        'they stay with the former one too': ['assign(former.id, {});', ''],
        'only the user moves': ['tags: tagsOf(former.id)', 'tags: []'],
        'tags without a user do not move': [
          'if (hasOwner || !withOwner)',
          'if (hasOwner || !withOwner || former.user === null)',
        ],
      },
      'src/store/postgres/subscriptions.ts': {
        'its endpoint is compared as it is spelled': [
          'former && { hash: hashEndpoint(former.endpoint)',
          "former && { hash: hashEndpoint(former.endpoint.replace('HTTPS', 'http'))",
        ],
      },
      [formerInPostgres]: {
        'any auth will do': [
          'and deskbell_functions.is_same_secret(f.auth, decode(',
          'and (true or f.auth = decode(',
        ],
        'tags without a user do not move': [
          '(f.user_name is not null or f.tags is not null)',
          '(f.user_name is not null)',
        ],
        'a user without tags does not move': [
          '(f.user_name is not null or f.tags is not null)',
          '(f.tags is not null)',
        ],
      },
    },
  },
  {
    claim: 'A subscription that has a user or tags of its own keeps them when it takes the place of another',
    test: { file: owners, title: 'they do not move to a subscription that has its own' },
    changes: {
      [formerInSqlite]: {
        'they are replaced': ['if (hasOwner || !withOwner)', 'if (!withOwner)'],
        'tags alone are replaced': [' || tagsOf(id).length > 0', ''],
      },
      [formerInPostgres]: {
        'they are replaced': [' and s.user_name is null and s.tags is null;', ';'],
        'tags alone are replaced': [' and s.tags is null;', ';'],
      },
    },
  },
  {
    claim: 'Where a registration has tags and no user, the user goes, and tags where it has a user and none',
    test: { file: owners, title: 'a registration that says nothing of them changes neither' },
    changes: {
      'src/store/sqlite/user-and-tags.ts': {
        'the user stays': [
          'if (setUser.run({ id, user: user ?? null }) === 0)',
          'if (user && setUser.run({ id, user }) === 0)',
        ],
        'tags stay': ['    dropTags.run({ id });', ''],
      },
      'src/store/postgres/functions/subscriptions.sql': {
        'the user stays': [
          "then given.options #>> '{assign,user}' else",
          "then coalesce(given.options #>> '{assign,user}', s.user_name) else",
        ],
        'tags stay': [
          "then deskbell_functions.read_tags(given.options #> '{assign,tags}') else",
          "then coalesce(deskbell_functions.read_tags(given.options #> '{assign,tags}'), s.tags) else",
        ],
      },
    },
  },
  {
    claim: 'A registration without a token changes neither user nor tags, and a token of another person both',
    test: { file: tokens, title: 'sets user and tags; a registration without one leaves them' },
    changes: {
      'src/service/push/web-push.ts': {
        'without a token it is anonymous': [
          'const assign = await readSubscriberToken(request, reply);',
          'const assign = (await readSubscriberToken(request, reply)) ?? {};',
        ],
      },
    },
  },
  {
    claim:
      'A registration with a subscriber token that is not valid is a 401 that says why, and stores nothing',
    test: { file: tokens, title: 'is a 401 that says why, and stores nothing' },
    changes: {
      [token]: {
        'it is ignored': ['throw tokenError(error, tokens);', 'return undefined;'],
        'the audience means nothing': ['const { audience } = tokens;', 'const audience = undefined;'],
      },
    },
  },
  {
    claim:
      'A subscriber token that is not valid is a 401 that says why for channels too, and no choice is stored',
    test: {
      file: 'test/service/channels.test.ts',
      title: 'a request that says nothing of its reader, or has a wrong token',
    },
    changes: {
      'src/service/push/channels.ts': {
        'it is ignored': [
          'const signedIn = await readSubscriberToken(request, reply);',
          'const signedIn = await readSubscriberToken(request, reply).catch(() => undefined);',
        ],
      },
    },
  },
  {
    claim:
      'User and tags of a former subscription do not move where the registration says whose it is, be it nobody’s',
    test: { file: owners, title: 'they do not move to a subscription that has its own' },
    changes: {
      [formerInSqlite]: { 'they do': ['if (hasOwner || !withOwner) return;', 'if (hasOwner) return;'] },
      [formerInPostgres]: { 'they do': ["not given.options ? 'assign' and (f.user_name", '(f.user_name'] },
    },
  },
  {
    claim:
      'If `token` of the page returns nothing, user and tags stay; if it throws, calls reject with that error',
    test: {
      file: 'test/browser/demo-page-suite.ts',
      title: 'a subscription is whose the token says',
    },
    changes: {
      'src/client/service-api.ts': {
        'its error is lost': [
          'const token = await this.#options.token?.();',
          'const token = await Promise.resolve(this.#options.token?.()).catch(() => undefined);',
        ],
        'nothing is sent as a token': ['...(token && { authorization', '...({ authorization'],
        'channels are asked for without it': [
          "return this.#post('webPush/channels', Array.isArray, body, { choices })",
          "return this.#request('POST', 'webPush/channels', Array.isArray, jsonType, body)",
        ],
      },
    },
  },
  {
    claim: 'A subscriber token ends within an hour',
    test: { file: tokens, title: 'is a 401 that says why' },
    changes: {
      [token]: {
        'it may last': ['if (seconds > maxLifetimeSeconds', 'if (seconds > 2 * maxLifetimeSeconds'],
      },
    },
  },
  {
    claim: 'One minute by which clocks differ is tolerated in the time of a subscriber token',
    test: { file: tokens, title: 'is taken by clocks that differ by a minute at most' },
    changes: {
      [token]: {
        'a second less': ['const clockToleranceSeconds = 60;', 'const clockToleranceSeconds = 59;'],
        'a second more': ['const clockToleranceSeconds = 60;', 'const clockToleranceSeconds = 61;'],
        'a token may last longer': [
          'if (seconds > maxLifetimeSeconds + clockToleranceSeconds)',
          'if (seconds > maxLifetimeSeconds + 2 * clockToleranceSeconds)',
        ],
      },
    },
  },
  {
    claim: 'Schemes of the header Authorization other than Bearer are ignored',
    test: { file: tokens, title: 'is not asked for, and other schemes are ignored' },
    changes: {
      [token]: {
        'they are refused': [
          'if (token === undefined && !/^Bearer$/i.test(authorization))',
          "if (authorization === '')",
        ],
        'they clear user and tags of a known subscription': [
          '.test(authorization)) return undefined;',
          ".test(authorization)) return authorization === '' ? undefined : {};",
        ],
      },
    },
  },
  {
    claim: 'With subscriber tokens off, the header Authorization is ignored',
    test: { file: tokens, title: 'the header Authorization is ignored' },
    changes: {
      [token]: {
        'it clears user and tags of a known subscription': [
          'return async () => undefined;',
          'return async ({ headers }) => (headers.authorization === undefined ? undefined : {});',
        ],
      },
    },
  },
  {
    claim: 'A row of an import that has neither user nor tags changes neither',
    test: { file: commands, title: 'export and import carry user and tags' },
    changes: {
      'src/cli/input/subscription-line.ts': {
        'it clears both': [
          'if (user === undefined && tags === undefined) return',
          'if (user === null) return',
        ],
      },
    },
  },
  {
    claim: 'An export has the language, time zone and choices that hold for each reader',
    test: { file: commands, title: 'export and import carry language, time zone and choices' },
    changes: {
      'src/store/readers.ts': {
        'those of the browser are not in it': [
          'coalesce(p.language, s.language) as language, coalesce(p.time_zone, s.time_zone) as time_zone,',
          'p.language, p.time_zone,',
        ],
        'the choices of the person are not in it': [
          '{ ...readChoices(own), ...readChoices(channels) }',
          'readChoices(own)',
        ],
      },
      'src/cli/input/subscription-line.ts': {
        'the language is that of the browser': ['language: facts.language,', 'language: row.language,'],
        'the time zone is that of the browser': ['timeZone: facts.timeZone,', 'timeZone: row.timeZone,'],
      },
    },
  },
  {
    claim: 'Removing a person deletes and counts subscriptions, attempts, places in lists and own broadcasts',
    test: { file: owners, title: 'subscriptions, attempts, places in lists and own broadcasts are deleted' },
    changes: {
      'src/store/remove-person.ts': {
        'broadcasts to the person alone stay': [
          'broadcasts where ${columns.user} = :user`, { user })',
          "broadcasts where ${columns.user} = :user`, { user: '' })",
        ],
        'places in lists are not counted': ['recipients: removed.recipients + memberships', 'recipients: 0'],
        'attempts stay': ['await forgetAttempts(database, ids)', 'await forgetAttempts(database, [])'],
      },
    },
  },
  {
    claim: '`deskbell subscriptions remove --user` prints how many of each kind were removed',
    test: { file: commands, title: 'a person is removed, and what was removed is told' },
    changes: {
      'src/cli/commands/subscriptions-remove.ts': {
        'those that had ended are not told': [
          "[ended, 'subscription', ' that had ended']",
          "[subscriptions, 'subscription', ' that had ended']",
        ],
        'attempts are told as receipts': ["[receipts, 'receipt', '']", "[attempts, 'receipt', '']"],
      },
    },
  },
  {
    claim: 'A user has 1 to 128 bytes of text without control characters',
    test: { file: names, title: 'a user is 1 to 128 bytes' },
    changes: {
      [namesOf]: {
        'it may be longer': ['export const maxUserBytes = 128;', 'export const maxUserBytes = 129;'],
        'it may have any character': ['if (isPlainText(user)) return user;', 'return user;'],
        'upper and lower case are one': ['return user;', 'return user.toLowerCase();'],
        'spaces around it go': ['return user;', 'return user.trim();'],
      },
      'src/errors/plain-text.ts': {
        'it may have the last control character of ASCII': [
          String.raw`/\p{Cc}/u.test(text)`,
          String.raw`/[\x00-\x1f\x80-\x9f]/.test(text)`,
        ],
      },
    },
  },
  {
    claim: 'A tag has 1 to 64 bytes of letters, digits and ". _ : -"',
    test: { file: names, title: 'tags are short words' },
    changes: {
      [namesOf]: {
        'it may be longer': ['const maxTagBytes = 64;', 'const maxTagBytes = 65;'],
        'it may have one byte less': ['<= maxTagBytes) return', '< maxTagBytes) return'],
        'it may not be longer in another spelling': ['= 4 * maxTagBytes;', '= maxTagBytes;'],
        'it may begin with a colon': [String.raw`/^[\p{L}\p{N}][`, String.raw`/^[\p{L}\p{N}:][`],
        'it may begin with an accent': [String.raw`/^[\p{L}\p{N}][`, String.raw`/^[\p{L}\p{M}\p{N}][`],
        'it may have a slash': ['._:-]*$/u', '._:/-]*$/u'],
      },
    },
  },
  {
    claim: 'A subscription has at most 32 tags',
    test: { file: names, title: 'there are at most 32 tags' },
    changes: {
      [namesOf]: { 'it may have one more': ['export const maxTags = 32;', 'export const maxTags = 33;'] },
    },
  },
  {
    claim: 'What onSubscribe returns replaces user and tags together; where it returns neither, both stay',
    test: { file: tokens, title: 'what onSubscribe returns replaces user and tags' },
    changes: {
      'src/service/push/registration.ts': {
        'it means nothing': [
          'return readUserAndTags(await onSubscribe(offered, request));',
          'await onSubscribe(offered, request); return undefined;',
        ],
        'where it returns nothing both go': [
          'return readUserAndTags(await onSubscribe(offered, request));',
          'return readUserAndTags(await onSubscribe(offered, request)) ?? {};',
        ],
      },
    },
  },
  {
    claim:
      'onSubscribe is told whose a subscription will be: by its token, its row, or the one that it replaces',
    test: { file: 'test/service/registrations.test.ts', title: 'is known by what it will be' },
    changes: {
      'src/service/push/registration.ts': {
        'not by its token': ['if (assign !== undefined) return assign;', ''],
        'the one that it replaces comes before its own tags': [' || known.tags.length > 0)', ')'],
        'by one that it cannot prove to replace': [
          'row !== undefined && isSameSecret(row.auth, former.auth) ? row : {}',
          'row ?? {}',
        ],
      },
    },
  },
  {
    claim: 'Where nothing else is configured, subscriber tokens are for the audience `deskbell`',
    test: { file: 'test/cli/token.test.ts', title: 'says whose a subscription is' },
    changes: {
      'src/cli/configuration/configuration.ts': {
        'they are for another': [
          `default: 'deskbell',\n    valid: 'text'`,
          `default: 'app',\n    valid: 'text'`,
        ],
      },
    },
  },
  {
    claim: 'With EdDSA, subscriber tokens are verified with the key in the file that is configured',
    test: { file: 'test/cli/token.test.ts', title: 'says whose a subscription is' },
    changes: {
      'src/cli/serve/subscriber-tokens.ts': {
        'the path is taken for the key': [
          'return { algorithm, publicKey, audience };',
          'return { algorithm, publicKey: subscriberTokenKey, audience };',
        ],
      },
    },
  },
  {
    claim: 'An idempotency key covers the expression of an audience, and not who matches it',
    test: { file: 'test/delivery/preparing.test.ts', title: 'is returned after two seconds' },
    changes: {
      'src/delivery/broadcast/audience.ts': {
        'another expression is the same broadcast': ['JSON.stringify(checkExpression(audience))', 'matching'],
        'that of another user is the same broadcast': [
          'JSON.stringify(checkExpression(audience))',
          'JSON.stringify(checkExpression(audience).tags)',
        ],
      },
    },
  },
  {
    claim: '`send --detach` waits until the audience is complete',
    test: { file: 'test/delivery/preparing.test.ts', title: 'is waited for by send --detach' },
    changes: {
      'src/cli/send/send-broadcast.ts': {
        'it does not': [
          "while (broadcast.state === 'preparing' && !stop.aborted) {",
          'while (stop.aborted) {',
        ],
        'it says nothing meanwhile': ['output.live(formatPreparation(broadcast));', "output.live('');"],
      },
    },
  },
  {
    claim: 'Whoever creates a broadcast waits up to two seconds for its audience',
    test: { file: 'test/delivery/preparing.test.ts', title: 'is returned with its audience' },
    changes: {
      'src/delivery/broadcast/broadcaster.ts': {
        'nobody waits': [
          'await Promise.race([ended.catch(() => {}), sleep(maxCreationMs, undefined, { ref: false })]);',
          'ended.catch(() => {}); void sleep;',
        ],
      },
    },
  },
  {
    claim: 'A broadcast whose audience takes more than two seconds is returned as `preparing`',
    test: { file: 'test/delivery/preparing.test.ts', title: 'is returned after two seconds' },
    changes: {
      'src/delivery/broadcast/broadcaster.ts': {
        'its audience is waited for': ['const maxCreationMs = 2000;', 'const maxCreationMs = 2 ** 31 - 1;'],
        'it takes ten times as long': ['const maxCreationMs = 2000;', 'const maxCreationMs = 20_000;'],
      },
    },
  },
  {
    claim: 'A reader who is signed in sees the choices of this browser where the person has chosen nothing',
    test: { file: 'test/service/channels.test.ts', title: 'the person who is signed in chooses' },
    changes: {
      'src/service/push/channels.ts': {
        'they see the default': ['? own : { ...own, user };', '? own : { user };'],
        'they see them without its auth': [
          'isSameSecret(row.auth, authBytes) ?',
          '(user ?? isSameSecret(row.auth, authBytes)) ?',
        ],
      },
    },
  },
  {
    claim: 'A backend makes a subscriber token for as long as it says, at most an hour',
    test: { file: tokens, title: 'is made for an hour at most' },
    changes: {
      [token]: {
        'each is valid for an hour': ['/ 1000) + lifetimeSeconds)', '/ 1000) + maxLifetimeSeconds)'],
      },
    },
  },
  {
    claim: 'The key for EdDSA is an Ed25519 key, and no other',
    test: { file: tokens, title: 'options of subscriber tokens that are not usable' },
    changes: {
      [token]: {
        'it may be of another curve': ["=== 'ed25519') return key", "!== 'rsa') return key"],
        'it may be of the other Edwards curve': [
          "key.asymmetricKeyType === 'ed25519'",
          "/^ed\\d+$/.test(key.asymmetricKeyType ?? '')",
        ],
      },
    },
  },
  {
    claim: 'A time zone may have the longest of the IANA names',
    test: { file: 'test/audience/readers.test.ts', title: 'a language or time zone of a browser' },
    changes: {
      'src/audience/reader-facts.ts': {
        'it is none': ['const maxTimeZoneCharacters = 64;', 'const maxTimeZoneCharacters = 24;'],
      },
    },
  },
  {
    claim: '`deskbell invite` refuses what is no user',
    test: { file: 'test/cli/invite.test.ts', title: 'a link of `deskbell invite` lets one browser in' },
    changes: {
      'src/cli/commands/invite.ts': { 'any text is one': ["checkUser(given, '')", 'given'] },
    },
  },
  {
    claim: '`deskbell subscriptions remove --user` refuses what is no user',
    test: { file: commands, title: 'a person is removed, and what was removed is told' },
    changes: {
      'src/cli/commands/subscriptions-remove.ts': {
        'any text is one': ["undefined : checkUser(flags.user, '/user')", 'undefined : flags.user'],
      },
    },
  },
  {
    claim: '`deskbell channels list` and `people show` have all that is known, as JSON too',
    test: { file: commands, title: 'channels are made and removed' },
    changes: {
      'src/cli/commands/channels.ts': {
        'a list of channels has names alone': [
          'toJson: channelView.toJson,',
          'toJson: ({ name }) => ({ name }),',
        ],
        'one that is removed is not named': ['output.result(flags, { name },', 'output.result(flags, {},'],
      },
    },
  },
  {
    claim:
      '`client.signOut()` signs out what the service has stored, also after the push service has dropped it',
    test: { file: 'test/client/page-library.test.ts', title: 'registrations and channels come with a token' },
    changes: {
      'src/client/client.ts': {
        'the subscription is removed': [
          "this.#service.remove(body, 'webPush/user')",
          'this.#service.remove(body)',
        ],
        'only what the browser still has': ['const body = storedBody ?? (', 'const body = ('],
        'whether it has worked is not told': [
          "await this.#service.remove(body, 'webPush/user');",
          "await this.#service.remove(body, 'webPush/user').catch(() => undefined);",
        ],
      },
    },
  },
  {
    claim: 'A browser that subscribes again names its former subscription, also one that was never stored',
    test: { file: 'test/client/page-library.test.ts', title: 'after a 409 the key is asked for again' },
    changes: {
      'src/client/subscription.ts': {
        'only one that was stored': [
          'storedBody ?? (existing && subscriptionBody(existing));',
          'storedBody;',
        ],
      },
    },
  },
  {
    claim: 'The user of an import is a text or a whole number',
    test: { file: commands, title: 'rows with a user or tags that are not valid' },
    changes: {
      'src/cli/input/subscription-line.ts': {
        'any number is a user': [
          'Number.isSafeInteger(value) ? String(value)',
          "typeof value === 'number' ? String(value)",
        ],
      },
    },
  },
  {
    claim: 'A service worker that renews a subscription names the one that the service has stored',
    test: { file: 'test/client/service-worker.test.ts', title: 'a subscription that was never stored' },
    changes: {
      'src/client/worker/renewal.ts': {
        'it names the last one of the browser': ['if (storedBody === undefined && former)', 'if (former)'],
      },
    },
  },
];
