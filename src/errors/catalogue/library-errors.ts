// Errors that the library throws and the command prints. They have no HTTP status: if one reaches the public service,
// its client gets ERR_INTERNAL and the log the details.
import { entry, type CatalogueEntry } from './catalogue-entry.ts';

export const libraryErrors = {
  ERR_PAYLOAD_TOO_LARGE: entry(
    'The payload is too large for one push message',
    'Keep the payload within 3993 bytes of UTF-8.',
  ),
  ERR_MESSAGE_INVALID: entry(
    'The push message or one of its options is not valid',
    'Fix the option named in the message.',
  ),
  ERR_PLACEHOLDER_VALUE: entry(
    'A placeholder without a default has no value for its reader',
    'Give the placeholder a default, such as {name|there}, or set the value in the data of the person.',
  ),
  ERR_DECRYPTION_FAILED: entry(
    'The push message cannot be decrypted',
    'Decrypt the body as it was posted, with the keys of the subscription that it was posted to.',
  ),
  ERR_VAPID_KEY_INVALID: entry(
    'The VAPID key pair is not usable',
    'Give both halves of one P-256 pair as unpadded base64url.',
  ),
  ERR_VAPID_SUBJECT_INVALID: entry(
    'The VAPID subject is not usable',
    'Give a mailto: or https: URI that reaches you, not localhost.',
  ),
  ERR_KEY_FILE_MISSING: entry(
    'The key file is missing',
    'Restore it from a backup; a new pair would lose every subscriber.',
  ),
  ERR_KEY_FILE_CORRUPT: entry('A key file cannot be used', 'Restore it from a backup.'),
  ERR_KEY_FILE_EXISTS: entry(
    'There is a key pair already',
    'Keep it; --force replaces it and loses every subscriber.',
  ),
  ERR_KEY_IN_USE: entry(
    'The key pair is still needed',
    'See `deskbell keys list`; --force retires a pair that subscriptions were made with.',
  ),
  ERR_KEY_NOT_FOUND: entry('There is no such key pair', 'See `deskbell keys list`.'),
  ERR_KEY_FILE_EXPOSED: entry(
    'The key file can be read by others',
    'Remove the rights of other users (chmod 600), and find out who may have read it. If Kubernetes’ fsGroup gives them to the group, set groupAccess (DESKBELL_GROUP_ACCESS=true).',
  ),
  ERR_DATA_EXPOSED: entry(
    'The database or the data directory can be used by others',
    'Remove the rights of other users (chmod 600 for files, go-w for the directory), and find out who may have used them. If Kubernetes’ fsGroup gives them to the group, set groupAccess (DESKBELL_GROUP_ACCESS=true).',
  ),
  ERR_DATA_OWNER: entry(
    'The data directory, or a file in it, belongs to another user',
    'Run the command as that user (sudo -u). If you trust the contents of the directory, you can also give it to this user (chown -R).',
  ),
  ERR_STORE_CORRUPT: entry('The database is damaged or from another program', 'Restore it from a backup.'),
  ERR_STORE_TOO_NEW: entry(
    'The database was made by a newer Deskbell',
    'Update Deskbell, or use another data directory.',
  ),
  ERR_STORE_TOO_OLD: entry(
    'The database was made before version 1.0.0',
    'Export its subscriptions with the Deskbell that made it, and import them into an empty database.',
  ),
  ERR_PACKAGE_MISSING: entry(
    'An optional package is needed and is not installed',
    'Install the package named in the message, beside Deskbell.',
  ),
  ERR_CONFIGURATION: entry(
    'The configuration is not valid',
    'Settings and options are described in docs/configuration.md.',
  ),
  ERR_NODE_VERSION: entry('This version of Node is too old', 'Install Node 24 or newer.'),
  ERR_USAGE: entry('The command was not used as its help says', 'See --help.'),
  ERR_FILE: entry('A file or folder cannot be used', 'Check the path, its permissions and the disk.'),
  ERR_LISTEN: entry(
    'The address cannot be listened on',
    'Give another address or port (0 picks a free one), or end the program that uses it.',
  ),
  ERR_DATA_MISSING: entry(
    'The data directory does not exist',
    'Give another --data, or create it with `deskbell serve`, `deskbell operators add` or `deskbell keys generate`.',
  ),
  ERR_DATA_EXISTS: entry(
    'The data directory has a database already',
    'Give another --data, or stop the processes that use it and move it away.',
  ),
  ERR_STORE_IN_USE: entry(
    'Another process uses the database',
    'Stop all processes that use it, such as serve, worker and send, and try again.',
    true,
  ),
  ERR_STORE_NOT_EMPTY: entry(
    'The target of a copy has rows already',
    'Give a new database, or a directory without one.',
  ),
  ERR_COPY_SOURCE: entry(
    'There is nothing to copy',
    'Give the data directory or the database that is in use now.',
  ),
  ERR_COPY_UNFINISHED: entry(
    'The database is a copy that is not complete',
    'Run `deskbell store copy` again with the same source and target; it continues where it stopped.',
  ),
  ERR_COPY_DIFFERS: entry(
    'A copy and its source are not the same',
    'Start again with a new, empty target, while nothing else uses source or target.',
  ),
  ERR_FAULTS_FOUND: entry('`deskbell doctor` has found faults', 'Follow the advice below each.'),
  ERR_SUBSCRIPTION_NOT_FOUND: entry('There is no such subscription', 'See `deskbell subscriptions list`.'),
  ERR_ALARM_NOT_FOUND: entry('There is no such alarm', 'It has ended; see `deskbell alarms list`.'),
  ERR_NOT_ACCEPTED: entry(
    'The push service did not accept a message',
    'See the outcomes: "retry" may succeed later, "rejected" will not succeed unchanged.',
    true,
  ),
  ERR_LINES_REFUSED: entry(
    'Lines of an import are not valid',
    'Fix the lines that were reported and import them again.',
  ),
  ERR_BROADCAST_UNFINISHED: entry(
    'The broadcast was paused or cancelled before its end',
    'See `deskbell broadcasts show`; `deskbell broadcasts resume` continues one that was paused.',
    true,
  ),
  ERR_INTERRUPTED: entry('The command was interrupted', 'Run the command again to continue.', true),
  ERR_OUTPUT: entry('Nothing can be written to standard output', 'Check where it is redirected to.'),
  ERR_COMMAND: entry('The command failed', 'Run it again with --debug to see where.'),
  ERR_ADDRESS_BLOCKED: entry(
    'The push service resolves to an address that is not public',
    'If the push service is yours, add its origin to "pushServices".',
  ),
  ERR_CONNECTION: entry('The push service cannot be reached', 'Try again later.', true),
  ERR_PROTOCOL: entry(
    'The push service violated HTTP',
    'Report it to the operator of the push service, with the error message.',
    true,
  ),
  ERR_TLS: entry(
    'The TLS connection to the push service failed',
    'Check the certificate or give its CA.',
    true,
  ),
  ERR_TIMEOUT: entry('The push service did not answer in time', 'Try again later.', true),
  ERR_SENDER_FAULT: entry(
    'Sending failed on this side, for a reason that Deskbell does not know',
    'Messages wait and are tried again. If it persists, please report it as a fault of Deskbell.',
    true,
  ),
  ERR_CLOSED: entry('The sender is closed', 'Make a new sender.'),
  ERR_OPERATOR_EXISTS: entry(
    'There is an operator of this name already',
    'Choose another name, or remove that operator first.',
  ),
  ERR_OPERATOR_NOT_FOUND: entry('There is no such operator', 'See `deskbell operators list`.'),
  ERR_BROADCAST_NOT_FOUND: entry('There is no such broadcast', 'See `deskbell broadcasts list`.'),
  ERR_SCHEDULE_INVALID: entry(
    'The times of the schedule are not valid',
    'Give five fields, such as "0 9 * * 1", and an IANA time zone, such as Europe/Berlin.',
  ),
  ERR_CHANNEL_NOT_FOUND: entry('There is no such channel', 'See `deskbell channels list`.'),
  ERR_SCHEDULE_NOT_FOUND: entry('There is no such schedule', 'See `deskbell schedules list`.'),
  ERR_BROADCAST_STATE: entry(
    'The broadcast is not in a state that allows this',
    'See `deskbell broadcasts show`.',
  ),
  ERR_IDEMPOTENCY_KEY: entry(
    'The idempotency key was used for another request',
    'Use a new key for a new message, audience or recipient.',
  ),
} as const satisfies Record<string, CatalogueEntry>;
