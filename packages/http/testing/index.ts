export { makeChain, playChains, trustByRule } from './chain-case.ts';
export { answer, cut, type HostileService, half, type Reply, say, silence, startHostileService } from './hostile-service.ts';
export { playRedirects, redirectsByRule } from './redirect-case.ts';
