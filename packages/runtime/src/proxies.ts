/** Proxies of a program, from the variables that programs share. */
import { z } from 'zod';

type Environment = Readonly<Record<string, string | undefined>>;

/** URL of a proxy. */
export const proxyUrl = z
  .string()
  .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'is no URL of a proxy; write http://[user:password@]host:port')
  .optional();

/** Proxies as `proxiesOf` finds them. */
export const proxySettings = z.object({ http: proxyUrl, https: proxyUrl, no: z.string().optional() });

/** Variables of proxies as most programs take them: also in lower case or without a scheme. Capitals take precedence, an empty one says nothing. */
export function proxyVariables(env: Environment) {
  const variable = (name: string) => env[name] || env[name.toLowerCase()] || undefined;
  const url = (name: string) => {
    const value = variable(name);
    return value && !value.includes('://') ? `http://${value}` : value;
  };
  return { HTTP_PROXY: url('HTTP_PROXY'), HTTPS_PROXY: url('HTTPS_PROXY'), NO_PROXY: variable('NO_PROXY') };
}

/** Finds the proxies of an environment. */
export function proxiesOf(env: Environment) {
  const { HTTP_PROXY: http, HTTPS_PROXY: https, NO_PROXY: no } = proxyVariables(env);
  return { http, https, no };
}
