import Script from 'next/script';

export default function Page() {
  return (
    <>
      <Script type="module" src="/push/client/subscribe.js" crossOrigin="anonymous" />
      <deskbell-subscribe />
    </>
  );
}
