// An operation of the description document as HTML, with a form to try it.
import { html, type Html } from './html.ts';
import type { OperationObject, ParameterObject } from './openapi-document.ts';
import type { ResponseDescription } from './openapi-responses.ts';

export function renderOperation(method: string, path: string, operation: OperationObject): Html {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  return html`<details class="operation" id="${operationId}">
    <summary>
      <span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code>
      <span class="quiet">${summary}</span>
    </summary>
    <div class="inside">
      ${description !== undefined && renderText(description)} ${renderSecurity(operation)}
      ${
        parameters.length > 0 &&
        html`<h4>Parameters</h4>
          <dl>${parameters.map(renderParameter)}</dl>`
      }
      ${
        body &&
        html`<h4>Body</h4>
          ${renderDetails('Schema', html`<pre>${toJson(body.schema)}</pre>`)}`
      }
      ${renderForm(method, path, operation)}
      <h4>Responses</h4>
      <dl class="responses">
        ${Object.entries(responses).map(([status, response]) =>
          renderResponse(status, response as ResponseDescription),
        )}
      </dl>
    </div>
  </details>`;
}

export function renderText(text: string): Html {
  const paragraphs = text
    .split('\n\n')
    .map((paragraph) =>
      paragraph
        .split('`')
        .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`)),
    );
  return html`${paragraphs.map((parts) => html`<p>${parts}</p>`)}`;
}

function renderSecurity({ security = [] }: OperationObject): Html {
  const schemes = new Set(security.flatMap((requirement) => Object.keys(requirement)));
  const isSessionNeeded = security.length > 0 && security.every((requirement) => 'session' in requirement);
  return html`${schemes.has('subscriberToken') && html`<p class="note">The header <code>Authorization</code> may have a subscriber token.</p>`}
  ${
    schemes.has('csrfToken') &&
    html`<p class="note">
      A request that carries the session cookie needs the header <code>Csrf-Token</code>.
    </p>`
  }
  ${isSessionNeeded && html`<p class="note">Needs the session cookie.</p>`}`;
}

function renderParameter({ name, in: place, required, description, schema }: ParameterObject): Html {
  const { description: meaning = '' } = schema as { description?: string };
  return html`<dt><code>${name}</code> <small>in the ${place}${required ? '' : ', optional'}</small></dt>
    <dd>${description ?? meaning} <code class="quiet">${JSON.stringify(schema)}</code></dd>`;
}

function renderResponse(status: string, { description, content = {} }: ResponseDescription): Html {
  const examples = Object.entries(content).map(([type, { example, examples: named }]) => {
    const first =
      named === undefined ? example : Object.values(named as Record<string, { value: unknown }>)[0]?.value;
    return html`<p class="type">${type}</p>
      <pre>${typeof first === 'string' && !type.includes('json') ? first : toJson(first)}</pre>`;
  });
  return html`<dt class="status s${status[0] ?? ''}">${status}</dt>
    <dd>
      <p>${description}</p>
      ${examples.length > 0 && renderDetails('Example', html`${examples}`)}
    </dd>`;
}

function renderForm(method: string, path: string, operation: OperationObject): Html {
  const { parameters = [], requestBody, security } = operation;
  const body = requestBody?.content['application/json'];
  const hasToken = security?.some((requirement) => 'csrfToken' in requirement) ?? false;
  const fields = [
    ...parameters.map(({ name, in: place, required }) => renderField(place, name, required)),
    ...(hasToken ? [renderField('header', 'Csrf-Token', false)] : []),
  ];
  return html`<form data-method="${method.toUpperCase()}" data-path="${path}">
    ${fields}
    ${
      body &&
      html`<label
        >Body<textarea name="body" rows="6" spellcheck="false">${toJson(body.example)}</textarea>
      </label>`
    }
    <button type="submit" class="primary">Send</button>
    <div class="answer" role="status" hidden></div>
  </form>`;
}

function renderField(place: string, name: string, required: boolean): Html {
  return html`<label
    >${name}<input data-in="${place}" name="${name}" autocomplete="off" ${required && html`required`}
  /></label>`;
}

const renderDetails = (title: string, content: Html): Html =>
  html`<details>
    <summary>${title}</summary>
    ${content}
  </details>`;

const toJson = (value: unknown): string => JSON.stringify(value, undefined, 2) ?? '';
