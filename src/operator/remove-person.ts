// Removing a person: all that the store knows of them, by what they are called in the application.
import { checkUser } from '../audience/user-and-tags.ts';
import type { RemovedPerson } from '../store/people.ts';
import type { OperatorContext } from './context.ts';

/** @throws {DeskbellError} ERR_FIELD_VALUE for a text that is no user */
export function removePerson({ store }: OperatorContext, user: string): Promise<RemovedPerson> {
  return store.people.remove(checkUser(user, '/user'));
}
