export { playRedirects, redirectsByRule } from './redirect-case.ts';
