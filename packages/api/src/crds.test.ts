import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { policyCrds } from '../testing/policy-crds.ts';
import { lintStructural } from '../testing/structural-lint.ts';
import { configCrds } from './config/crds.ts';
import type { CrdManifest } from './crd.ts';
import { clusterSetCrds, transportCrds } from './ocm/crds.ts';
import { ranCrds } from './ran/crds.ts';

const Version = z.object({
  schema: z.object({ openAPIV3Schema: z.looseObject({}) }),
  subresources: z.unknown().optional(),
  additionalPrinterColumns: z.unknown().optional(),
});
const Spec = z.looseObject({
  names: z.looseObject({ shortNames: z.array(z.string()).optional() }),
  scope: z.string(),
  versions: z.tuple([Version]),
});
const read = (crd: CrdManifest) => Spec.parse(crd.spec);
const find = (name: string) => {
  const found = [...ranCrds(), ...transportCrds(), ...clusterSetCrds(), ...policyCrds(), ...configCrds()].find(
    (crd) => crd.metadata.name === name,
  );
  if (!found) throw new Error(`no CRD ${name}`);
  return read(found);
};

describe('CRDs', () => {
  test.each(
    [...ranCrds(), ...transportCrds(), ...clusterSetCrds(), ...policyCrds(), ...configCrds()].map((crd) => ({
      name: crd.metadata.name,
      crd,
    })),
  )('$name is structural', ({ crd }) => {
    expect(lintStructural(read(crd).versions[0].schema.openAPIV3Schema)).toEqual([]);
  });

  it('describes every field of the kinds a user writes', () => {
    const bare: string[] = [];
    const visit = (node: unknown, path: string): void => {
      const fields = z
        .record(z.string(), z.looseObject({ description: z.string().optional() }))
        .safeParse(z.looseObject({}).parse(node).properties);
      for (const [key, field] of Object.entries(fields.data ?? {})) {
        if (!field.description) bare.push(`${path}.${key}`);
        visit(field, `${path}.${key}`);
        if (field.items) visit(field.items, `${path}.${key}[]`);
      }
    };
    for (const crd of ranCrds()) {
      const top = z
        .looseObject({ spec: z.unknown(), status: z.unknown().optional() })
        .parse(read(crd).versions[0].schema.openAPIV3Schema.properties);
      for (const part of ['spec', 'status'] as const) if (top[part]) visit(top[part], `${crd.metadata.name}.${part}`);
    }
    expect(bare).toEqual([]);
  });

  it('bounds every text, list and map that a user writes', () => {
    const unbounded: string[] = [];
    const Node = z.looseObject({ type: z.string().optional(), properties: z.record(z.string(), z.unknown()).optional() });
    const limits: Record<string, string> = { string: 'maxLength', array: 'maxItems', map: 'maxProperties' };
    const visit = (given: unknown, path: string): void => {
      const node = Node.parse(given);
      const limit = limits[node.additionalProperties ? 'map' : (node.type ?? '')];
      if (limit && typeof node[limit] !== 'number') unbounded.push(`${path} without ${limit}`);
      for (const [key, field] of Object.entries(node.properties ?? {})) visit(field, `${path}.${key}`);
      if (node.items) visit(node.items, `${path}[]`);
      if (node.additionalProperties) visit(node.additionalProperties, `${path}{}`);
    };
    for (const crd of ranCrds()) {
      const { spec } = z.looseObject({ spec: z.unknown() }).parse(read(crd).versions[0].schema.openAPIV3Schema.properties);
      visit(spec, `${crd.metadata.name}.spec`);
    }
    expect(unbounded).toEqual([]);
  });

  it('shows the columns and the short name of the reference, and ours when they are asked for', () => {
    const { names, versions } = find('clustergroupupgrades.ran.openshift.io');
    expect(names.shortNames).toEqual(['cgu']);
    expect(versions[0].subresources).toEqual({ status: {} });
    const wide = { priority: 1 };
    expect(versions[0].additionalPrinterColumns).toEqual([
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
      { name: 'State', type: 'string', jsonPath: '.status.conditions[-1:].reason' },
      { name: 'Details', type: 'string', jsonPath: '.status.conditions[-1:].message' },
      { name: 'Cached', type: 'string', jsonPath: '.status.summary.cached', ...wide },
      { name: 'Batch', type: 'string', jsonPath: '.status.summary.batch', ...wide },
      { name: 'Failed', type: 'integer', jsonPath: '.status.summary.failed', ...wide },
      { name: 'Eta', type: 'string', jsonPath: '.status.summary.eta', ...wide },
    ]);
  });

  it('gives PreCachingConfig no status subresource', () => {
    const version = find('precachingconfigs.ran.openshift.io').versions[0];
    expect(version.subresources).toBeUndefined();
    expect(version.schema.openAPIV3Schema.properties).not.toHaveProperty('status');
  });

  it('shows the columns of ClusterVersion and ClusterOperator as clusters do today', () => {
    const columns = (name: string) =>
      z
        .array(z.looseObject({ name: z.string() }))
        .parse(find(name).versions[0].additionalPrinterColumns)
        .map((column) => column.name);
    expect(columns('clusterversions.config.openshift.io')).toEqual(['Version', 'Available', 'Progressing', 'Since', 'Status']);
    expect(columns('clusteroperators.config.openshift.io')).toEqual(['Version', 'Available', 'Progressing', 'Degraded', 'Since']);
    expect(find('clusteroperators.config.openshift.io').names.shortNames).toEqual(['co']);
    expect(configCrds().map((crd) => read(crd).scope)).toEqual(['Cluster', 'Cluster']);
  });

  it('makes only ManagedCluster and ManagedClusterSet cluster-scoped', () => {
    const scoped = [...ranCrds(), ...transportCrds(), ...clusterSetCrds(), ...policyCrds()]
      .filter((crd) => read(crd).scope === 'Cluster')
      .map((crd) => crd.metadata.name);
    expect(scoped).toEqual(['managedclusters.cluster.open-cluster-management.io', 'managedclustersets.cluster.open-cluster-management.io']);
  });
});
