// What broadcasts are measured with.

/** 218 bytes of payload. */
export const broadcastMessage = { title: 'Ding dong', message: 'Tea is ready. '.repeat(14).slice(0, 184) };

/** The same in three languages, with the name of the reader. */
export const messageToReaders = {
  ...broadcastMessage,
  title: 'Hello {name|there}',
  placeholders: true,
  texts: { de: { title: 'Hallo {name|du}' }, fr: { title: 'Bonjour {name|toi}' } },
};
