import type { OperatorConfig } from './config.ts';

/** True when a degraded ClusterOperator holds an update to a version up; by default from 4.19 on it is only reported. */
export function degradedBlocks(how: OperatorConfig['degraded'], version: string): boolean {
  if (how !== 'auto') return how === 'blocks';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 4 || (major === 4 && minor < 19);
}
