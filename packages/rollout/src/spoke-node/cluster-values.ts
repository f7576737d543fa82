/** Puller settings that a ManagedCluster may set for itself. Pure. */
import { readJson } from '@flotilla/api';
import { z } from 'zod';
import type { PullerVariable } from './puller-variables.ts';

interface ClusterValue {
  /** Annotation of a ManagedCluster; an empty value removes the hub's setting for all. */
  readonly annotation: string;
  /** Variable of the puller. */
  readonly variable: PullerVariable;
  readonly schema: z.ZodType<string>;
  /** Expected form, for the problem's message. */
  readonly hint: string;
}

const proxyUrl = z.url({ protocol: /^https?$/ }).max(1024);
const isJsonList = (text: string): boolean => Array.isArray(readJson(text));

/** Checks the form only; the puller checks the values. */
export const CLUSTER_VALUES: readonly ClusterValue[] = [
  { annotation: 'flotilla.io/http-proxy', variable: 'HTTP_PROXY', schema: proxyUrl, hint: 'http://host:port' },
  { annotation: 'flotilla.io/https-proxy', variable: 'HTTPS_PROXY', schema: proxyUrl, hint: 'http://host:port' },
  {
    annotation: 'flotilla.io/no-proxy',
    variable: 'NO_PROXY',
    schema: z.string().regex(/^[\w.:/*,[\]-]{1,8192}$/),
    hint: 'hosts, domains and networks separated by commas, without blanks',
  },
  {
    annotation: 'flotilla.io/registry-config',
    variable: 'REGISTRY_CONFIG',
    schema: z
      .string()
      .max(64 * 1024)
      .refine(isJsonList),
    hint: '[{"source":"registry.example","mirrors":["mirror:5000"],"insecure":true}]',
  },
  {
    annotation: 'flotilla.io/image-gc-threshold',
    variable: 'IMAGE_GC_HIGH_THRESHOLD_PERCENT',
    schema: z.string().regex(/^([1-9]\d?|100)$/),
    hint: "the kubelet's imageGCHighThresholdPercent, 1 to 100",
  },
];

/**
 * Reads the variables of these annotations, and problems of malformed ones. Problems do not repeat values, because a proxy's URL may hold a password.
 */
export function clusterValues(annotations: Readonly<Record<string, string>>): {
  variables: Partial<Record<PullerVariable, string>>;
  problems: string[];
} {
  const variables: Partial<Record<PullerVariable, string>> = {};
  const problems: string[] = [];
  for (const { annotation, variable, schema, hint } of CLUSTER_VALUES) {
    const value = annotations[annotation];
    if (value === undefined) continue;
    if (value === '' || schema.safeParse(value).success) variables[variable] = value;
    else problems.push(`annotation ${annotation} of the ManagedCluster cannot be used; write ${hint}, or remove it`);
  }
  return { variables, problems };
}
