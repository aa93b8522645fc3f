import { index, route } from '@react-router/dev/routes';

export default [index('home.jsx'), route('push/*', 'service.js'), route('notify', 'notify.js')];
