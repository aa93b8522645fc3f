// How the search index is made, when the site is built, and read, in the browser: both must say the same.
export const searchOptions = {
  fields: ['title', 'page', 'text'],
  storeFields: ['title', 'page', 'address', 'start'],
};

export const queryOptions = {
  boost: { title: 4, page: 2 },
  prefix: true,
  fuzzy: (term) => (term.length > 4 ? 0.2 : false),
  combineWith: 'AND',
};
