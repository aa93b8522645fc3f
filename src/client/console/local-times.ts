// Times in the reader's own zone; the page has them in UTC.

export function showLocalTimes(within: ParentNode): void {
  for (const time of within.querySelectorAll('time')) {
    const date = new Date(time.dateTime);
    time.title = time.dateTime;
    time.textContent = date.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
  }
}
