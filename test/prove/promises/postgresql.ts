// Promises of docs/postgresql.md.
import type { DocumentedPromise } from '../promise.ts';

export const postgresql: readonly DocumentedPromise[] = [
  {
    claim:
      'While a snapshot is held for long, leases and commits cost at most twice as much after 2,500 slices',
    test: { file: 'test/store/old-snapshot.test.ts', title: 'with an old snapshot held' },
    changes: {
      'src/store/postgres/functions/leases.sql': {
        'slices are looked for from the first one on': [
          's.number >= head.from_slice and',
          's.number >= 0 and',
        ],
      },
      'src/store/postgres/functions/finish-broadcast.sql': {
        'deleted slices are stepped over': ['order by number desc limit 1', 'order by number limit 1'],
      },
    },
  },
  {
    claim: 'What a lease costs does not grow with the number of broadcasts that are open',
    test: {
      file: 'test/operator/growth-suite.ts',
      title: 'nothing that is done again and again costs more',
    },
    changes: {
      'src/store/postgres/functions/leases.sql': {
        'those that began first come first': [
          'order by w.slices_at_ms, w.broadcast_id)',
          'order by (select b.start_at_ms from deskbell.broadcasts b where b.id = w.broadcast_id))',
        ],
      },
    },
  },
  {
    claim:
      'Rows whose commit is repeated, since its answer was lost, are counted once, and their lease is kept',
    test: {
      file: 'test/store/postgres-database.test.ts',
      title: 'counts rows once though the answer to their commit was lost',
    },
    changes: {
      'src/store/postgres/functions/commit-page.sql': {
        'a repeated page counts again': [' and token = p_token and cursor = p_from', ' and token = p_token'],
        'a repeated page loses its lease': [
          'and number = slice and last_commit = p_commit::text',
          'and false',
        ],
        'a repeated commit of retries loses their lease': [
          'if exists (select from deskbell.commits where id = p_commit) then',
          'if false then',
        ],
      },
    },
  },
  {
    claim: 'A change whose answer was lost is repeated, and made once: it says what it did',
    test: {
      file: 'test/store/lost-answers.test.ts',
      title: 'where the answer of PostgreSQL to a statement or to its commit is lost',
    },
    changes: {
      'src/store/postgres/database.ts': {
        'it is made again': ['if (isNew.length > 0) result =', 'result ='],
      },
      'src/store/postgres/portable-database.ts': {
        'a repeated change of portable SQL finds nothing': [
          'database.once(async (query) => {\n      if (lock',
          'database.transaction(async (query) => {\n      if (lock',
        ],
        'a repeated batch counts nothing': [
          'const rows = await database.once(',
          'const rows = await database.transaction(',
        ],
      },
      'src/store/postgres/subscriptions.ts': {
        'a repeated removal by id finds nothing': [
          'removeById: (id) =>\n      database.once(',
          'removeById: (id) =>\n      database.transaction(',
        ],
        'a repeated removal by endpoint finds nothing': [
          '        return database.once(async (query) => {',
          '        return database.transaction(async (query) => {',
        ],
      },
    },
  },
  {
    claim: 'After a failover that has lost the last commits, workers that go on skip nobody',
    test: {
      file: 'test/store/lost-commits.test.ts',
      title: 'a page is refused whose predecessor was lost',
    },
    changes: {
      'src/store/sqlite/commit-page.ts': {
        'a page is taken wherever the cursor stands': ['and cursor = :fromCursor', 'and :fromCursor >= 0'],
      },
    },
  },
  {
    claim: 'A function that has changed reaches a database whose tables are the newest already',
    test: {
      file: 'test/store/postgres-database.test.ts',
      title: 'gets a function that changed without a migration',
    },
    changes: {
      'src/store/postgres/functions/all-functions.ts': {
        'functions are known by the version of the tables alone': ['.update(text)', ''],
      },
    },
  },
  {
    claim: 'Functions that a process has used within 30 days stay, and later ones are dropped',
    test: {
      file: 'test/store/postgres-database.test.ts',
      title: 'keeps functions until nobody has used them for 30 days',
    },
    changes: {
      'src/store/postgres/functions/use-functions.ts': {
        'they are dropped a day early': ['unusedFunctionsKeptDays = 30', 'unusedFunctionsKeptDays = 29'],
        'they stay a day longer': ['unusedFunctionsKeptDays = 30', 'unusedFunctionsKeptDays = 31'],
        'those of versions that do not record it stay for ever': ['or known.used_on is null then', 'then'],
      },
    },
  },
  {
    claim: 'Answers to single messages are counted once though their commit is repeated',
    test: { file: 'test/store/postgres-database.test.ts', title: 'counts answers to single messages once' },
    changes: {
      'src/store/postgres/functions/deletion-guard.sql': {
        'a repeated commit counts again': [
          'if not found then return deskbell_functions.push_service_states(now_ms); end if;',
          '',
        ],
      },
    },
  },
  {
    claim:
      'Answers to single messages are counted while another transaction decides about their push service',
    test: { file: 'test/store/postgres-database.test.ts', title: 'counts answers while another' },
    changes: {
      'src/store/postgres/functions/deletion-guard.sql': {
        'each answer takes the lock': ['if jsonb_array_length(told."gone") > 0 or', 'if true or'],
      },
    },
  },
  {
    claim:
      'A worker whose machine has a wrong clock says so, as a service does, and delivers as the others do',
    test: { file: 'test/cli/worker-clock.test.ts', title: 'a worker whose machine is' },
    changes: {
      'src/cli/commands/serve.ts': {
        'a service does not say so': [
          'withData(configuration, { subscriptionLimit, onWarning },',
          'withData(configuration, { subscriptionLimit },',
        ],
      },
      'src/cli/commands/worker.ts': {
        'a worker does not say so': ['run, { onWarning });', 'run, {});'],
      },
      'src/store/postgres/server-clock.ts': {
        'the time is the machine’s own': ['return Math.round(monotonicMs + aheadMs);', 'return Date.now();'],
      },
    },
  },
  {
    claim: 'The store’s time decides when messages expire, what tokens say and when schedules are due',
    test: { file: 'test/delivery/wrong-clock.test.ts', title: 'one of two workers that is' },
    changes: {
      'src/delivery/worker/create-worker.ts': {
        'a worker’s own time decides': [
          'const { now } = store;',
          'const now = settings.transport.now ?? store.now;',
        ],
      },
      'src/delivery/message-path/message-path.ts': {
        'tokens have the sender’s own time': [
          'store?.now ?? options.now ?? Date.now',
          'options.now ?? store?.now ?? Date.now',
        ],
      },
    },
  },
  {
    claim: 'A broadcast begins, and ends, by the clock of the store',
    test: { file: 'test/delivery/expired.test.ts', title: 'sends nothing again where the time of a message' },
    changes: {
      'src/delivery/broadcast/create-broadcast.ts': {
        'it begins by that of the machine': [
          'options.startAt?.getTime() ?? now()',
          'options.startAt?.getTime() ?? Date.now()',
        ],
      },
    },
  },
  {
    claim: 'Of two processes that register one endpoint at once, the user and tags of the later one hold',
    test: {
      file: 'test/store/postgres-database.test.ts',
      title: 'of two processes that register one endpoint at once',
    },
    changes: {
      'src/store/postgres/functions/subscriptions.sql': {
        'a row that is there keeps its user': [
          "case when given.options ? 'assign' then given.options #>> '{assign,user}' else s.user_name end",
          's.user_name',
        ],
        'a row that was inserted meanwhile is not looked at again': [
          'exit when cardinality(changed) + cardinality(refused) + inserted = cardinality(hashes);',
          'exit;',
        ],
      },
    },
  },
  {
    claim: 'The doctor names users who may connect only because everybody may',
    test: { file: 'test/store/postgres-database.test.ts', title: 'is left as it is by the doctor' },
    changes: {
      'src/store/postgres/inspect-database.ts': {
        'they are not looked for': ['where rolcanlogin', 'where false'],
        'a group is named too': ['where rolcanlogin', 'where true'],
        'who has the rights of this user is named too': [
          "and not pg_has_role(oid, current_user, 'usage')",
          '',
        ],
        'whoever was let in by name is named too': [
          "grantee = 0 and privilege_type = 'CONNECT'",
          "privilege_type = 'CONNECT'",
        ],
      },
    },
  },
  {
    claim: 'A process that runs for long keeps its functions: it records each day that it uses them',
    test: { file: 'test/store/postgres-database.test.ts', title: 'keeps the functions of a process' },
    changes: {
      'src/store/postgres/functions/use-functions.ts': {
        'it records it every other day': ['6 * 60 * 60 * 1000', '48 * 60 * 60 * 1000'],
      },
      'src/store/postgres/open-store.ts': {
        'it records it once': [
          '() => void keepFunctions(database, newest)',
          '() => void Promise.resolve(keepFunctions)',
        ],
      },
    },
  },
  {
    claim: 'Without the package `pg`, the error says how to install it',
    test: { file: 'test/store/postgres-database.test.ts', title: 'without the package pg' },
    changes: {
      'src/store/postgres/connection.ts': {
        'it says what Node says': ["!== 'ERR_MODULE_NOT_FOUND') throw cause;", "!== 'ENOENT') throw cause;"],
      },
    },
  },
  {
    claim: 'A process without the current private key refuses to start, and makes no pair of its own',
    test: {
      file: 'test/store/postgres-database.test.ts',
      title: 'is not opened with a directory that lacks',
    },
    changes: {
      'src/cli/data/data-directory.ts': {
        'it makes one': [
          '(await store.vapidKeys.current()) === undefined',
          '(await store.vapidKeys.current()) !== null',
        ],
      },
    },
  },
  {
    claim: 'If another worker has taken over a slice, nothing of a late page of the former one is stored',
    test: { file: 'test/store/broadcast-suite.ts', title: 'a slice is held by one worker until' },
    changes: {
      'src/store/postgres/functions/commit-page.sql': {
        'any worker’s page is stored': [
          'and number = slice and token = p_token and',
          'and number = slice and',
        ],
      },
      'src/store/sqlite/commit-page.ts': {
        'any worker’s page is stored': [
          'number = :number and token = :fenceToken and cursor',
          'number = :number and cursor',
        ],
      },
    },
  },
  {
    claim: '`maxSubscriptions` limits what is stored in PostgreSQL, too',
    test: { file: 'test/store/postgres-database.test.ts', title: 'has the limit on subscriptions' },
    changes: {
      'src/cli/data/data-directory.ts': {
        'it does not': ['url: database, subscriptionLimit,', 'url: database,'],
      },
    },
  },
  {
    claim: 'One connection is enough, also to register an invited browser where there is a limit',
    test: {
      file: 'test/store/postgres-database.test.ts',
      title: 'with a limit, an invited browser is registered on one connection',
    },
    changes: {
      'src/store/postgres/subscriptions.ts': {
        'the limit asks for another one': [
          'await takeCapacity(budget, rows, query);',
          'await takeCapacity(budget, rows, database.query);',
        ],
      },
    },
  },
  {
    claim: 'The figures of the console go by the clock of the database',
    test: { file: 'test/operator/console-pages.test.ts', title: 'a push service that calls all' },
    changes: {
      'src/operator/console/pages/overview.ts': {
        'messages a second do not': [
          'const sinceMs = nowMs - (nowMs % widthMs)',
          'const sinceMs = Date.now() - (nowMs % widthMs)',
        ],
        'subscriptions gained today do not': [
          'subscriptionDays(startOfDay(store.now()))',
          'subscriptionDays(startOfDay(Date.now()))',
        ],
        'subscriptions by day do not': [
          'const sinceMs = startOfDay(store.now())',
          'const sinceMs = startOfDay(Date.now())',
        ],
      },
      'src/operator/console/pages/broadcast.ts': {
        'the rate of a broadcast does not': ['      store.now(),', '      Date.now(),'],
      },
      'src/delivery/alarms/read-alarms.ts': {
        'what is late does not': ['const nowMs = store.now();', 'const nowMs = Date.now();'],
      },
      'src/operator/console/pages/push-services.ts': {
        'what push services have answered does not': [
          'sinceMs: store.now() - judgedMs',
          'sinceMs: Date.now() - judgedMs',
        ],
        'the last hour does not': ['const untilMs = store.now();', 'const untilMs = Date.now();'],
      },
    },
  },
  {
    claim: 'A worker sends a broadcast with its own message, also after the database was restored under it',
    test: { file: 'test/delivery/workload.test.ts', title: 'which a restored database lacks' },
    changes: {
      'src/delivery/worker/row-payloads.ts': {
        'with that of the one that had its id': [
          '`${broadcast.id} ${broadcast.createdAtMs}`',
          '`${broadcast.id}`',
        ],
      },
    },
  },
  {
    claim: 'Counters that many processes update are summed when they are read',
    test: { file: 'test/store/postgres-database.test.ts', title: 'sums what several processes have counted' },
    changes: {
      'src/store/postgres/subscriptions.ts': {
        'subscriptions are those of one': [
          'coalesce(sum(subscriptions), 0)',
          'coalesce(max(subscriptions), 0)',
        ],
      },
      'src/store/postgres/portable-database.ts': {
        'the subscriptions of a key, and in a sample of tags, are those of one': [
          'sum(c.subscriptions) as',
          'max(c.subscriptions) as',
        ],
      },
      'src/store/broadcast-reader.ts': {
        'receipts are those of one': ['sum(count) as count', 'max(count) as count'],
        'what is to be tried again is that of one': [
          'coalesce(sum(rows), 0) from deskbell.waiting_rows',
          'coalesce(max(rows), 0) from deskbell.waiting_rows',
        ],
        'what was removed is that of one': [
          'coalesce(sum(rows), 0) from deskbell.removed_rows',
          'coalesce(max(rows), 0) from deskbell.removed_rows',
        ],
      },
      'src/store/statistics.ts': {
        'subscriptions gained in a day are those of one': ['sum(gained) as gained', 'max(gained) as gained'],
        'the backlog is that of one': [
          'coalesce(sum(w.rows) filter (where w.push_service_id = 0)',
          'coalesce(max(w.rows) filter (where w.push_service_id = 0)',
        ],
      },
    },
  },
];
