// Promises of docs/people.md.
import type { DocumentedPromise } from '../promise.ts';

const sessions = 'test/service/application-session.test.ts';
const readers = 'test/store/readers-suite.ts';
const audiences = 'test/store/audiences-suite.ts';

export const people: readonly DocumentedPromise[] = [
  {
    claim: 'In Express onSubscribe receives the request of Express, with its session',
    test: { file: sessions, title: "hooks receive the application's own request, with its session" },
    changes: {
      'src/service/create-middleware.ts': {
        'it receives another': ['({ raw }) => raw as Request', '(request) => request as unknown as Request'],
      },
    },
  },
  {
    claim:
      'A subscription is in an audience when it meets every part of the expression: the user and each kind of tags',
    test: { file: 'test/store/people-suite.ts', title: 'expressions of user and tags' },
    changes: {
      'src/store/sqlite/audience-filter.ts': {
        'tags of `all` are ignored beside a user': [
          'values: { user, ...tagValues(tags) }',
          'values: { user, ...tagValues({ ...tags, all: [] }) }',
        ],
        'tags of `any` are ignored beside a user': [
          'values: { user, ...tagValues(tags) }',
          'values: { user, ...tagValues({ ...tags, any: [] }) }',
        ],
        'tags of `none` are ignored beside a user': [
          'values: { user, ...tagValues(tags) }',
          'values: { user, ...tagValues({ ...tags, none: [] }) }',
        ],
      },
      'src/store/postgres/audience-filter.ts': {
        'tags of `all` are ignored beside a user': [
          'if (all.length > 0)',
          'if (user === undefined && all.length > 0)',
        ],
        'tags of `any` are ignored beside a user': [
          'if (any.length > 0)',
          'if (user === undefined && any.length > 0)',
        ],
        'tags of `none` are ignored beside a user': [
          'if (none.length > 0)',
          'if (user === undefined && none.length > 0)',
        ],
      },
    },
  },
  {
    claim: 'Users are compared exactly: `Ada` and `ada` are two users',
    test: { file: 'test/store/people-suite.ts', title: 'expressions of user and tags' },
    changes: {
      'src/store/sqlite/audience-filter.ts': {
        'they are one': [
          "user: 'select id from subscriptions where user = :user and",
          "user: 'select id from subscriptions where lower(user) = lower(:user) and",
        ],
      },
      'src/store/postgres/audience-filter.ts': {
        'they are one': [
          '`s.user_name = ${parameter(user)}`',
          '`lower(s.user_name) = lower(${parameter(user)})`',
        ],
      },
    },
  },
  {
    claim: 'What is known of a person is not that of one whose name differs in upper and lower case',
    test: { file: readers, title: 'facts of several subscriptions' },
    changes: {
      'src/store/readers.ts': {
        'it is': ["people where user_name = :user'", "people where lower(user_name) = lower(:user)'"],
      },
      'src/store/sqlite/portable-database.ts': {
        'it is that of the subscription': [
          'on p.user_name = s.user_name`',
          'on lower(p.user_name) = lower(s.user_name)`',
        ],
      },
      'src/store/postgres/portable-database.ts': {
        'it is that of the subscription': [
          'where user_name = s.user_name offset 0',
          'where lower(user_name) = lower(s.user_name) offset 0',
        ],
      },
    },
  },
  {
    claim: 'Removing a person removes none whose name differs in upper and lower case',
    test: { file: 'test/store/people-suite.ts', title: 'what is not there is not removed' },
    changes: {
      'src/store/sqlite/people.ts': { 'it does': ["user: 'user',", "user: 'user collate nocase',"] },
    },
  },
  {
    claim: '`deskbell subscriptions tag` changes all subscriptions that are chosen, however many there are',
    test: { file: 'test/cli/subscriptions.test.ts', title: '20,000 rows go through' },
    changes: {
      'src/cli/commands/subscriptions-tag.ts': {
        'it changes the first thousand': [
          '    yield page.map(({ id }) => id);',
          '    return yield page.map(({ id }) => id);',
        ],
      },
    },
  },
  {
    claim: 'Deskbell does not interpret a user',
    test: { file: 'test/audience/user-and-tags.test.ts', title: 'a user is 1 to 128 bytes' },
    changes: {
      'src/audience/user-and-tags.ts': {
        'two spellings of a character are one': ['return user;', "return user.normalize('NFC');"],
      },
    },
  },
  {
    claim: 'A broadcast that is `preparing` can be paused and cancelled',
    test: { file: 'test/operator/console-broadcast.test.ts', title: 'a broadcast can be paused, resumed' },
    changes: {
      'src/operator/console/pages/broadcast.ts': {
        'the console does not let it be paused': [
          "from: ['preparing', 'running', 'scheduled'],",
          "from: ['running', 'scheduled'],",
        ],
        'the console does not let it be cancelled': [
          "from: ['preparing', 'running', 'scheduled', 'paused'],",
          "from: ['running', 'scheduled', 'paused'],",
        ],
      },
    },
  },
  {
    claim: 'A broadcast that is paused while it is `preparing` is prepared and sent once it is resumed',
    test: { file: 'test/delivery/preparing.test.ts', title: 'that is paused reaches nobody' },
    changes: {
      'src/store/preparations.ts': {
        'it is never prepared': [
          'from deskbell.preparations where is_paused = 0 and lease_until_ms',
          'from deskbell.preparations where is_paused is null and lease_until_ms',
        ],
      },
    },
  },
  {
    claim: 'The counts of a broadcast stay when a person is removed whose row was sent',
    test: { file: 'test/store/removed.test.ts', title: 'are not counted where a person is removed' },
    changes: {
      'src/store/forget-subscriptions.ts': {
        'the last row that was sent counts as removed': [
          'cursor < :subscriptionId',
          'cursor <= :subscriptionId',
        ],
      },
    },
  },
  {
    claim: 'A search for a user at one push service compares users exactly',
    test: { file: 'test/store/store-suite.ts', title: 'pages of one push service have its rows alone' },
    changes: {
      'src/store/sqlite/audience-filter.ts': {
        'upper and lower case are one': [
          '(:user is null or user = :user)',
          '(:user is null or lower(user) = lower(:user))',
        ],
      },
      'src/store/postgres/audience-filter.ts': {
        'upper and lower case are one': [
          '`s.user_name = ${parameter(user)}`',
          '`lower(s.user_name) = lower(${parameter(user)})`',
        ],
      },
    },
  },
  {
    claim: 'A broadcast by user and tags is `preparing` and sends nothing until its audience is complete',
    test: { file: audiences, title: 'nothing is sent before the audience is complete' },
    changes: {
      'src/store/preparations.ts': {
        'it is sent after the first range': [
          'if (!isLast) return true;',
          'if (!isLast && number > 0) return true;',
        ],
      },
      'src/store/broadcast-reader.ts': {
        'it is shown as paused': ["row.is_preparing === 1 ? 'preparing' : row.state", 'row.state'],
      },
    },
  },
  {
    claim:
      'The range of IDs in which an audience by tags is looked for in one transaction is bounded, however few it finds',
    test: { file: audiences, title: 'to nobody it is done when all ids have been looked at' },
    changes: {
      'src/store/sqlite/audiences.ts': {
        'it looks until it finds': ['look < maxLooks && ids', 'ids'],
        'it looks at 10,000 candidates at once': [
          'Math.min(maxCandidates, candidatesOfRow * sliceRows)',
          'maxCandidates',
        ],
      },
      'src/store/postgres/member-finder.ts': {
        'it doubles without end': ['const maxGrowth = 32;', 'const maxGrowth = 32_000;'],
      },
    },
  },
  {
    claim: 'While it is preparing, a broadcast can be cancelled, and no process prepares it any more',
    test: { file: audiences, title: 'cancelling it ends the preparation' },
    changes: {
      'src/store/broadcast-control.ts': {
        'it is taken up again': [
          "await database.write('delete from deskbell.preparations where broadcast_id = :id', { id });",
          '',
        ],
      },
    },
  },
  {
    claim: 'While it is preparing, pausing a broadcast stops the preparation',
    test: { file: audiences, title: 'pausing it stops the preparation' },
    changes: {
      'src/store/broadcast-control.ts': {
        'the preparation goes on': ['{ id, isPaused },', '{ id, isPaused: 0 },'],
      },
    },
  },
  {
    claim:
      'Any process that delivers goes on with a broadcast whose process has ended while it was preparing',
    test: {
      file: 'test/delivery/preparing.test.ts',
      title: 'whose process has ended is prepared and delivered',
    },
    changes: {
      'src/delivery/broadcast/prepare-broadcasts.ts': {
        'only who created it prepares it': [
          'if (id !== undefined) await prepareUnheld',
          'if (id === 0) await prepareUnheld',
        ],
      },
    },
  },
  {
    claim:
      'Another process goes on with the preparation of a broadcast ten seconds after the last sign of its process',
    test: { file: audiences, title: 'another process goes on where one has ended' },
    changes: {
      'src/store/preparations.ts': {
        'it waits longer': ['const leaseMs = 10_000;', 'const leaseMs = 11_000;'],
        'it does not wait': ['untilMs: database.now() + leaseMs', 'untilMs: database.now()'],
      },
    },
  },
  {
    claim: 'Who subscribes while a broadcast by user and tags is preparing is not in its audience',
    test: { file: audiences, title: 'who subscribes while it is prepared' },
    changes: {
      'src/store/preparations.ts': {
        'the next subscription is looked at too': ['throughId: lastId,', 'throughId: lastId + 1,'],
      },
    },
  },
  {
    claim: 'For a channel the choice of the person holds, else that of the subscription, else its default',
    test: { file: readers, title: 'has the default of a channel, then the own choice' },
    changes: {
      'src/store/readers.ts': {
        'the own choice holds first': [
          'return forEach(await channels.list(), { ...ownChoices(reader), ...ofPerson });',
          'return forEach(await channels.list(), { ...ofPerson, ...ownChoices(reader) });',
        ],
        'the default holds': ['Object.hasOwn(made, name) ? made[name]! : isOnByDefault', 'isOnByDefault'],
      },
    },
  },
  {
    claim: 'An import overrides no choice that a reader has made',
    test: { file: readers, title: 'an import adds choices, and overrides none' },
    changes: {
      'src/store/sqlite/subscriptions.ts': {
        'that of the import holds': [
          "json_patch(excluded.channels, coalesce(subscriptions.channels, '{}'))",
          "json_patch(coalesce(subscriptions.channels, '{}'), excluded.channels)",
        ],
      },
      'src/store/postgres/functions/subscriptions.sql': {
        'that of the import holds': [
          "(given.options -> 'channels') || coalesce(s.channels, '{}')::jsonb",
          "coalesce(s.channels, '{}')::jsonb || (given.options -> 'channels')",
        ],
      },
    },
  },
  {
    claim: 'A person who is removed is in no table of the database any more, nor is a subscription of theirs',
    test: { file: 'test/store/removed-person.test.ts', title: 'is in no table any more' },
    changes: {
      'src/store/sqlite/database.ts': {
        'pages that are free now keep it': ["this.#database.exec('pragma secure_delete = on');", ''],
        'the write-ahead log keeps it': [
          "await this.read(() => this.#database.exec('pragma wal_checkpoint(truncate)'));",
          '',
        ],
      },
      'src/store/remove-person.ts': {
        'what a push service accepted stays': [
          "yield* drop('accepted_subscriptions where subscription_id = :id', id);",
          '',
        ],
        'when they were reached before they had a user stays': [
          "yield* drop('person_reaches where person = :person', { person: `subscription:${row.id}` });",
          '',
        ],
        'lists keep subscriptions that have ended': [
          'for (const row of [...stored, ...ended])',
          'for (const row of stored)',
        ],
        'events that are not posted yet stay': [
          "yield* drop('webhook_events where user_name = :user', { user });",
          '',
        ],
      },
    },
  },
  {
    claim:
      'The ID of a subscription that was deleted stays until the broadcasts that were open then are over',
    test: { file: 'test/store/removed.test.ts', title: 'are known until no open broadcast' },
    changes: {
      'src/store/retention.ts': {
        'it goes while one is paused': [
          "min(removals_after) from deskbell.broadcasts where state in ('running', 'paused')",
          "min(removals_after) from deskbell.broadcasts where state = 'running'",
        ],
        'it goes after half an hour': ['database.now() - freezingMs)', 'database.now() - freezingMs / 2)'],
        'it goes before a broadcast that is being made can count it': [
          'where r.at_ms < :beforeMs)',
          'where r.at_ms <> :beforeMs)',
        ],
        'it stays for ever': [
          'if ((yield* pruneRemovals(database.now() - freezingMs)) === pruneBatchRows) return true;',
          '',
        ],
      },
    },
  },
  {
    claim: 'Removing a person removes what waits to be sent to them, also of broadcasts that are paused',
    test: {
      file: 'test/store/removed.test.ts',
      title: 'are counted where a person is removed whose row waits',
    },
    changes: {
      'src/store/remove-person.ts': {
        'of one to all it stays while that is paused': [
          "${columns.isForAll} and state in ('running', 'paused')",
          "${columns.isForAll} and state = 'running'",
        ],
        'of one to a list it stays while that is paused': [
          "         where b.state in ('running', 'paused')",
          "         where b.state = 'running'",
        ],
      },
    },
  },
  {
    claim: 'Removing a person removes its data, language, time zone and choices',
    test: { file: readers, title: 'leaves no trace once it is removed' },
    changes: {
      'src/store/remove-person.ts': {
        'they stay': [
          "drop('people where user_name = :user', { user })",
          "drop('people where user_name = :user', { user: '' })",
        ],
      },
    },
  },
  {
    claim:
      '`store.people` refuses what is no user or no tag, and more than 32 tags, and gives a tag one spelling',
    test: { file: 'test/store/people-suite.ts', title: 'what is no user or no tag is refused' },
    changes: {
      'src/store/sqlite/people.ts': {
        'whom it is assigned to is not looked at': ['= checkOwnerChange(change);', '= change;'],
        'its tags are not looked at': [
          'const { add, remove } = checkTagChange(change);',
          'const { add = [], remove = [] } = change;',
        ],
      },
      'src/store/postgres/people.ts': {
        'whom it is assigned to is not looked at': ['= checkOwnerChange(change);', '= change;'],
        'its tags are not looked at': [
          'const { add, remove } = checkTagChange(change);',
          'const { add = [], remove = [] } = change;',
        ],
      },
      'src/store/people.ts': {
        'the spelling of tags that are taken away is another': [
          "remove: checkTags(remove, '/remove'),",
          'remove,',
        ],
      },
    },
  },
  {
    claim: 'A person who is removed is no recipient of times to come any more',
    test: {
      file: 'test/store/split-audiences-suite.ts',
      title: 'a person who is removed is no recipient of times to come any more',
    },
    changes: {
      'src/store/forget-subscriptions.ts': {
        'they are counted still': ['rows: rest.length,', 'rows: all.length,'],
      },
    },
  },
  {
    claim: 'A person who is removed is in no list of attempts, however many broadcasts there were to them',
    test: { file: 'test/store/removed-person.test.ts', title: 'is in no table any more' },
    changes: {
      'src/store/forget-subscriptions.ts': {
        'the last broadcasts alone are looked through': ['maxId = last.id - 1;', 'maxId = 0;'],
        'one is passed over between two transactions': ['maxId = last.id - 1;', 'maxId = last.id - 2;'],
        'a set of nobody else stays with its ends': ["ifEmpty: 'delete',", "ifEmpty: 'keep',"],
        'an audience is passed over between two transactions': [
          'where id <= :maxId order by id desc',
          'where id < :maxId order by id desc',
        ],
      },
    },
  },
  {
    claim:
      'Removing a person removes broadcasts and schedules to this user, also those to this user with some tags',
    test: { file: 'test/operator/api.test.ts', title: 'one is removed; a person is removed' },
    changes: {
      'src/delivery/broadcast/audience.ts': {
        'broadcasts that name tags too stay': [
          'user: expression.user, hash',
          'user: expression.tags ? undefined : expression.user, hash',
        ],
      },
      'src/store/schedules.ts': {
        'schedules that name tags too stay': [
          "draft.audience === 'all' ? null :",
          "draft.audience === 'all' || draft.audience.tags ? null :",
        ],
      },
    },
  },
  {
    claim: 'An audience with a `user` is looked for all at once, however many subscriptions there are',
    test: { file: audiences, title: 'the few of a person are looked for all at once' },
    changes: {
      'src/store/postgres/member-finder.ts': {
        'it is looked for range by range': [
          'expression.user === undefined ? Math.min(lastId, afterId + width) : lastId',
          'Math.min(lastId, afterId + width)',
        ],
      },
    },
  },
  {
    claim: 'The console shows what is known of a person, and turns a channel on and off for them',
    test: { file: 'test/operator/console-pages.test.ts', title: 'channels are added, changed and removed' },
    changes: {
      'src/operator/console/pages/people.ts': {
        'nothing turns it off': ['{ on: true, off: false }', '{ on: true }'],
      },
      'src/operator/console/reader-cards.ts': {
        'the time zone is not shown': ["['Time zone', timeZone]", "['Time zone', ofBrowsers]"],
        'whatever was chosen is shown as on': [
          'isChosen ? made[name]! : isOnByDefault',
          'isChosen || isOnByDefault',
        ],
      },
    },
  },
  {
    claim:
      'With several of `--any-tag` and `--not-tag`, subscriptions have one of the former and none of the latter',
    test: { file: 'test/cli/people.test.ts', title: 'tags are added and taken away' },
    changes: {
      'src/cli/flags/people-flags.ts': {
        'beside --not-tag, --any-tag means nothing': [
          'tags: { all, any, none } };',
          'tags: { all, any: none ? undefined : any, none } };',
        ],
        'beside --any-tag, --not-tag means nothing': [
          'tags: { all, any, none } };',
          'tags: { all, any, none: any ? undefined : none } };',
        ],
      },
    },
  },
  {
    claim: 'Removing a person leaves what is of other persons',
    test: { file: 'test/store/removed-person.test.ts', title: 'is in no table any more' },
    changes: {
      'src/store/remove-person.ts': {
        'all invitations go': ['invitations where user_name = :user', 'invitations where :user is not null'],
        'events of all persons go': [
          'webhook_events where user_name = :user',
          'webhook_events where :user is not null and user_name is not null',
        ],
        'all that have ended go': [
          "drop('ended_subscriptions where user_name = :user",
          "drop('ended_subscriptions where :user is not null",
        ],
        'what push services accepted after them goes': [
          'accepted_subscriptions where subscription_id = :id',
          'accepted_subscriptions where subscription_id >= :id',
        ],
        'schedules of all persons go': [
          'schedules where user_name = :user',
          'schedules where :user is not null and user_name is not null',
        ],
      },
    },
  },
  {
    claim: 'What onSubscribe returns holds before a subscriber token',
    test: { file: 'test/service/registrations.test.ts', title: 'is known by what it will be' },
    changes: {
      'src/service/push/registration.ts': {
        'the token holds': [
          'assign === undefined ? registration : { ...registration, assign }),',
          '({ ...registration, assign: registration.assign ?? assign })),',
        ],
      },
    },
  },
  {
    claim: 'The console finds subscriptions with one of several tags',
    test: { file: 'test/operator/console-pages.test.ts', title: 'subscriptions are found by user, tags' },
    changes: {
      'src/operator/console/message-form.ts': {
        'it finds all': ["any: toList(fields, 'tagsAny'),", 'any: [],'],
      },
    },
  },
];
