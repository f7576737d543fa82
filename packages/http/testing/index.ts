export { type FetchByClient, playRedirects, type RedirectCase, type RedirectOutcome, redirectsByRule } from './redirect-case.ts';
