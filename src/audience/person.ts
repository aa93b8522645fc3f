// What the store keeps about a person besides subscriptions: data, language, time zone and choices.
import { checkChoiceChange, type Choices } from './channels.ts';
import { checkData, checkLanguage, checkTimeZone, type PersonData } from './reader-facts.ts';

/** The application's data about a person, and the person's choices. */
export interface Person {
  /** The user, as in `UserAndTags`. */
  readonly user: string;
  readonly data: PersonData;
  readonly language: string | undefined;
  readonly timeZone: string | undefined;
  readonly channels: Choices;
}

type Change<Members> = { readonly [Name in keyof Members]: Members[Name] | null };

/**
 * A change to a person. Fields that are left out do not change. `null` clears a field, or one entry of `data` or
 * `channels`.
 */
export interface PersonChange {
  readonly data?: Change<PersonData> | null | undefined;
  readonly language?: string | null | undefined;
  readonly timeZone?: string | null | undefined;
  readonly channels?: Change<Choices> | null | undefined;
}

/** @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE; `fields` points into the change */
export const checkPersonChange = ({ data, language, timeZone, channels }: PersonChange): PersonChange => ({
  data: data && checkData(data, '/data'),
  language: language == null ? language : checkLanguage(language, '/language'),
  timeZone: timeZone == null ? timeZone : checkTimeZone(timeZone, '/timeZone'),
  channels: channels && checkChoiceChange(channels, '/channels'),
});
