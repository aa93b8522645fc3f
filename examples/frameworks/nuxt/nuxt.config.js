export default defineNuxtConfig({
  vue: { compilerOptions: { isCustomElement: (tag) => tag === 'deskbell-subscribe' } },
  nitro: { esbuild: { options: { target: 'es2022' } } }, // push.js awaits at its top level
});
