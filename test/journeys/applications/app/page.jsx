import { act } from './actions';

export const dynamic = 'force-dynamic';

export default function Page() {
  return (
    <form action={act}>
      <button type="submit">Send</button>
      <output>{globalThis.result}</output>
    </form>
  );
}
