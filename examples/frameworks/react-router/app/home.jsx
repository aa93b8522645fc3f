export default () => <deskbell-subscribe />;
