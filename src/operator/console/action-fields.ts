// The fields of the composer for the buttons of a message: `actionTitle0`, `actionUrl0` and so on.
import type { Fields } from './forms.ts';
import { lookUp } from '../../errors/look-up.ts';

export const actionCount = 3;
export const actionIndexes = Array.from({ length: actionCount }, (_, index) => index);

/** The field of each member of a button, without its index. */
export const actionFields: Readonly<Record<string, string>> = {
  title: 'actionTitle',
  url: 'actionUrl',
  icon: 'actionIcon',
  action: 'actionName',
};

/** Of all buttons. */
export const actionFieldNames: readonly string[] = Object.values(actionFields).flatMap((name) =>
  actionIndexes.map((index) => `${name}${index}`),
);

/** The indexes of those that are filled in: a message has these alone. */
export const filledActions = (fields: Fields): readonly number[] =>
  actionIndexes.filter((index) =>
    Object.values(actionFields).some((name) => lookUp(fields, `${name}${index}`)),
  );
