// For Vite: all code in one file; without it, packages are left out.
export default { ssr: { noExternal: true } };
