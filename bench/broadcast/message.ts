// What broadcasts are measured with.

/** 218 bytes of payload. */
export const broadcastMessage = { title: 'Ding dong', message: 'Tea is ready. '.repeat(14).slice(0, 184) };
