import { createHttp, type HttpSurroundings } from './http.ts';

/** Metrics of the deployment validation operator (spec/muo 8.7). */
interface DeploymentValidation extends AsyncDisposable {
  /** The whole exposition; undefined where there is no such operator. */
  metrics(signal?: AbortSignal): Promise<string | undefined>;
}

/** How it is found; undefined: it is not there. No credential is sent: it asks for none, and the way there is not encrypted. */
interface DeploymentValidationOptions extends HttpSurroundings {
  readonly url: () => Promise<URL | undefined>;
}

const MAX_BYTES = 32 * 2 ** 20;

/** Opens nothing before the first call. */
export function createDeploymentValidation({ url, ...options }: DeploymentValidationOptions): DeploymentValidation {
  const http = createHttp({ ...options, name: 'Deployment validation operator', maxBytes: MAX_BYTES });
  return {
    async metrics(signal) {
      const at = await url();
      return at && (await http.send({ method: 'GET', url: new URL('/metrics', at), signal })).text;
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
