export { nextVersions, parseUpdateGraph, updateGraphLimits } from './update-graph/graph.ts';
export { DEFAULT_UPDATE_SERVICE, refuseQuery, type UpdateQuery, updateUrl } from './update-graph/query.ts';
