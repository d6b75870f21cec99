/** The home page: tells a person with a browser what this service is and how to send a request. */
import { html, Html } from '@rackless/daemon/text/html.js';

/** The content of the home page. */
interface HomePage {
  /** Public model names; null hides them. */
  readonly models: readonly string[] | null;
  readonly version: string;
}

/** Renders the page as HTML without scripts or images. */
export function renderHome({ models, version }: HomePage): string {
  const sample = models?.find((name) => !name.includes('*')) ?? '<model>';
  const request = `curl "$ADDRESS/v1/chat/completions" \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "${sample}", "messages": [{"role": "user", "content": "Hello"}]}'`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Rackless model proxy</title>
        <style>
          ${style}
        </style>
      </head>
      <body>
        <main>
          <h1>Model proxy</h1>
          <p>One OpenAI-style address in front of many models.</p>
          ${
            models === null
              ? hidden
              : html`<ul>
                  ${models.map((name) => html`<li><code>${name}</code></li>`)}
                </ul>`
          }
          <pre>${request}</pre>
          <footer>
            Rackless model-proxy ${version} · <a href="/ui/">console</a> · <a href="/v1/models">models</a> ·
            <a href="/health/readiness">readiness</a> · <a href="/metrics">metrics</a> · <a href="/routes">routes</a>
          </footer>
        </main>
      </body>
    </html> `.text;
}

const hidden = html`<p>Requests need a key. <code>GET /v1/models</code> lists the models of a key.</p>`;

const style = new Html(`
:root { color-scheme: light dark; }
body { max-width: 44rem; margin: 0 auto; padding: 2.5rem 1.25rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; }
pre { overflow-x: auto; padding: 1rem; border: 1px solid color-mix(in srgb, currentColor 20%, transparent); border-radius: 8px; }
code, pre { font: 0.9em ui-monospace, monospace; }
footer { margin-top: 2rem; opacity: 0.7; }
`);
