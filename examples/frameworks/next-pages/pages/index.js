import Script from 'next/script';

export default function Page() {
  return (
    <>
      <Script type="module" src="/api/push/client/subscribe.js" crossOrigin="anonymous" />
      <deskbell-subscribe />
    </>
  );
}
