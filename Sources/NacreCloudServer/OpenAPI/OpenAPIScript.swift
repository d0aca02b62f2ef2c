/// The script of the page at `/openapi`: it reads the document, shows each endpoint in an element that opens, and sends
/// calls with the typed values. All text is inserted into the page as text.
enum OpenAPIScript {
    static let text = HTML(
        trusted: """
            'use strict';
            (async () => {
              const find = id => document.getElementById(id);
              const common = find('common'), state = find('state'), list = find('endpoints');
              const make = (name, properties = {}, ...children) => {
                const element = Object.assign(document.createElement(name), properties);
                element.append(...children);
                return element;
              };
              common.addEventListener('submit', event => event.preventDefault());
              find('reveal').checked = false;
              find('reveal').addEventListener('change', event => {
                for (const secret of common.querySelectorAll('.secret')) secret.type = event.target.checked ? 'text' : 'password';
              });
              let api;
              try {
                const answer = await fetch('openapi.json', { credentials: 'omit' });
                if (!answer.ok) throw new Error('status ' + answer.status);
                api = await answer.json();
              } catch (error) {
                state.textContent = 'openapi.json cannot be read: ' + error.message;
                state.className = 'problem';
                return;
              }
              const target = reference => reference.split('/').slice(1).reduce((value, part) => value[part], api);
              const shape = (schema, indent = '') => {
                if (schema.$ref) return schema.$ref.split('/').pop();
                if (schema.anyOf) {
                  return [...new Set(schema.anyOf.filter(one => one.type !== 'null').map(one => shape(one, indent)))].join(' | ');
                }
                if (schema.enum) return schema.enum.map(word => JSON.stringify(word)).join(' | ');
                if ('const' in schema) return String(schema.const);
                if (schema.type === 'array') return '[' + shape(schema.items, indent) + ']';
                if (schema.type === 'string') return schema.contentEncoding || 'string';
                if (schema.type !== 'object') return schema.type || 'any';
                if (!schema.properties) return '{ [name]: ' + shape(schema.additionalProperties || {}, indent) + ' }';
                const inner = indent + '  ', required = schema.required || [];
                const members = Object.entries(schema.properties).map(([name, value]) =>
                  inner + name + (required.includes(name) ? '' : '?') + ': ' + shape(value, inner));
                return members.length ? '{\\n' + members.join('\\n') + '\\n' + indent + '}' : '{}';
              };
              const named = (schema, seen = new Set()) => {
                if (schema.$ref && !seen.has(schema.$ref)) {
                  seen.add(schema.$ref);
                  named(target(schema.$ref), seen);
                }
                for (const value of Object.values(schema)) if (value && typeof value === 'object') named(value, seen);
                return seen;
              };
              const shown = schema => [shape(schema.$ref ? target(schema.$ref) : schema),
                ...[...named(schema)].filter(one => one !== schema.$ref).map(one => one.split('/').pop() + ' = ' + shape(target(one)))].join('\\n\\n');
              const schemaOf = holder => Object.values((holder.$ref ? target(holder.$ref) : holder).content)[0].schema;

              const call = async (path, method, form, output) => {
                const values = Object.fromEntries(new FormData(common)), headers = {}, query = new URLSearchParams();
                let url = path.replace(/^\\//, '').replace(/\\{(\\w+)\\}/g, (_, name) => encodeURIComponent(values[name] || form.elements[name]?.value || ''));
                if (values.bearer) headers.Authorization = 'Bearer ' + values.bearer.trim();
                else for (const name of ['ckAPIToken', 'ckWebAuthToken']) if (values[name]) query.set(name, values[name].trim());
                for (const input of form.querySelectorAll('[data-query]')) if (input.value) query.set(input.name, input.value);
                if (query.size) url += '?' + query;
                const body = form.elements.body?.value;
                if (body) headers['Content-Type'] = 'application/json';
                output.textContent = 'Waiting …';
                try {
                  const answer = await fetch(url, { method, headers, body, credentials: 'omit' });
                  const text = await answer.text();
                  let pretty = text;
                  try { pretty = JSON.stringify(JSON.parse(text), null, 2); } catch { }
                  const remedy = answer.headers.get('X-Nacre-Remedy'), help = answer.headers.get('X-Nacre-Help');
                  output.replaceChildren(make('span', { className: answer.ok ? 'answer-status' : 'answer-status bad',
                    textContent: answer.status + (answer.ok ? '' : ' ' + answer.statusText) }), ...(remedy ? ['\\nWhat to do: ' + remedy] : []),
                    ...(help ? ['\\n', make('a', { href: help.slice(1), textContent: 'About ' + help.split('#').pop() })] : []), '\\n' + pretty);
                } catch (error) {
                  output.textContent = 'No answer: ' + error.message;
                }
              };

              const fill = (holder, path, method, endpoint) => {
                const form = make('form'), output = make('pre', { tabIndex: 0 });
                output.setAttribute('role', 'status');
                output.setAttribute('aria-label', 'Answer');
                const fields = make('div', { className: 'fields' });
                for (const value of endpoint.parameters || []) {
                  if (value.in !== 'query') continue;
                  const input = make('input', { name: value.name, autocomplete: 'off', required: value.required });
                  input.dataset.query = '';
                  fields.append(make('label', { textContent: value.name + (value.required ? '' : ' (optional)') + ' ' }, input));
                }
                form.append(fields);
                if (endpoint.requestBody) {
                  const example = endpoint.requestBody.content['application/json'].example;
                  const text = example ? JSON.stringify(example, null, 2) : '{\\n}';
                  form.append(make('label', { textContent: 'Body ' }, make('textarea', { name: 'body', spellcheck: false, value: text })));
                }
                form.append(make('div', { className: 'buttons' }, make('button', { className: 'main', textContent: 'Send' })));
                form.addEventListener('submit', event => { event.preventDefault(); call(path, method.toUpperCase(), form, output); });
                const ways = (endpoint.security || []).map(way => Object.keys(way).join(' and ') || 'nothing').join(', or ');
                holder.append(make('p', { textContent: 'Who may ask: ' + (ways || 'everybody') + '.' }), form, output);
                if (endpoint.requestBody) holder.append(make('h3', { textContent: 'Request' }), make('pre', { tabIndex: 0, textContent: shown(schemaOf(endpoint.requestBody)) }));
                for (const [status, answer] of Object.entries(endpoint.responses)) {
                  if (answer.$ref) continue;
                  const schema = schemaOf(answer);
                  holder.append(make('h3', { textContent: 'Answer ' + status }), make('pre', { tabIndex: 0, textContent: schema ? shown(schema) : 'text' }));
                }
                const errors = Object.entries(endpoint.responses).filter(([, answer]) => answer.$ref)
                  .map(([status, answer]) => status + ' ' + target(answer.$ref).description);
                holder.append(make('h3', { textContent: 'Errors' }), make('pre', { tabIndex: 0, textContent: errors.join('\\n') }));
              };

              const groups = new Map();
              for (const [path, methods] of Object.entries(api.paths)) {
                for (const [method, endpoint] of Object.entries(methods)) {
                  const group = endpoint.tags[0];
                  if (!groups.has(group)) {
                    const section = make('section', { id: 'group-' + (groups.size + 1) }, make('h2', { textContent: group }));
                    list.append(section);
                    find('contents').append(make('a', { href: '#' + section.id, textContent: group }));
                    groups.set(group, section);
                  }
                  const holder = make('div'), entry = make('details', {}, make('summary', {}, make('span', { className: 'method', textContent: method.toUpperCase() }),
                    make('code', { textContent: path.replace(/^\\/database\\/1\\/\\{container\\}\\/\\{environment\\}\\/\\{database\\}/, '…') }),
                    make('span', { className: 'what', textContent: endpoint.summary })), holder);
                  entry.dataset.words = (method + ' ' + path + ' ' + endpoint.summary).toLowerCase();
                  entry.addEventListener('toggle', () => { if (entry.open && !holder.hasChildNodes()) fill(holder, path, method, endpoint); });
                  groups.get(group).append(entry);
                }
              }
              const all = [...list.querySelectorAll('details')];
              const search = () => {
                const words = find('search').value.toLowerCase().split(' ').filter(Boolean);
                for (const entry of all) entry.hidden = !words.every(word => entry.dataset.words.includes(word));
                for (const section of groups.values()) section.hidden = !section.querySelector('details:not([hidden])');
                const count = all.filter(entry => !entry.hidden).length;
                state.textContent = count + (count === 1 ? ' endpoint' : ' endpoints') + ' of version ' + api.info.version + '.';
              };
              find('search').addEventListener('input', search);
              search();
            })();
            """)
}
