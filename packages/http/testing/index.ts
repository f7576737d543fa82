export { makeChain, playChains, trustByRule } from './chain-case.ts';
export { playRedirects, redirectsByRule } from './redirect-case.ts';
