import { type CrdManifest, crd } from '../src/crd.ts';
import { FileIntegrity, Machine, MachineConfigPool, MachineSet } from '../src/machine/kinds.ts';
import { anyObject } from '../src/schema-parts.ts';

/** CRDs of machines and their configuration, for tests and the demo: real clusters have them from their release. */
export function machineCrds(): CrdManifest[] {
  const open = { spec: anyObject, status: anyObject };
  return [
    crd(MachineSet, { description: 'A set of alike Machines.', ...open }),
    crd(Machine, { description: 'A machine of the cluster.', ...open }),
    crd(MachineConfigPool, { description: 'Nodes that get the same configuration.', ...open, shortNames: ['mcp'] }),
    crd(FileIntegrity, { description: 'A watch over the files of nodes.', ...open }),
  ];
}
