export { COMPILE_FLAGS } from './compile-flags.ts';
export type { DebianPackage, RuntimeName } from './debian-packages.ts';
export { BROWSER_PACKAGE, BUILD_PACKAGES, ensureDebianPackages, MONITORING_PACKAGES, NODE_PACKAGES } from './debian-packages.ts';
export type { Log } from './go-build.ts';
export type { ToolName } from './tool-sets.ts';
export type { Tools } from './tools.ts';
export { describeTools, ensureTools } from './tools.ts';
