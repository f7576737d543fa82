import { type CrdManifest, crd } from '../crd.ts';
import { anyObject } from '../schema-parts.ts';
import { FileIntegrity, Machine, MachineConfigPool, MachineSet } from './kinds.ts';

/** CRDs of machines and their configuration: clusters that have them have them from their release; for tests and the demo. */
export function machineCrds(): CrdManifest[] {
  const open = { spec: anyObject, status: anyObject };
  return [
    crd(MachineSet, { description: 'A set of alike Machines.', ...open }),
    crd(Machine, { description: 'A machine of the cluster.', ...open }),
    crd(MachineConfigPool, { description: 'Nodes that get the same configuration.', ...open, shortNames: ['mcp'] }),
    crd(FileIntegrity, { description: 'A watch over the files of nodes.', ...open }),
  ];
}
