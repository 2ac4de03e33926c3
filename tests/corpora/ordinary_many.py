# ruff: noqa: E501, SIM905 - lists of words and lines of commands, one beside the other
"""Twenty-four thousand ordinary texts: commands, queries, files, prompts, paragraphs and calls of daily work.

Sentences, command lines and arguments with blanks, filled from lists of everyday things by a seeded draw. They
were written from manuals and schemas, without a look at the rules; what the first run showed is on the pages.
"""

import random
from collections.abc import Iterator

FILES = """\
notes.md report.pdf src/app.py tests/test_app.py data/sales.csv build/out.log README.md docs/index.html app.log
config/settings.yaml package.json main.go Makefile images/logo.png archive/2024.tar.gz src/lib/util.ts""".split()
LISTS = """\
folder: src docs tests build data/raw archive dist public lib/core tmp_out
word: error timeout TODO user_id invoice total config deprecated export retry
branch: main develop feature/login fix/typo release/2.4 docs-update
package: requests flask lodash express numpy left-pad htop curl git jq
host: api.github.com example.com registry.npmjs.org pypi.org docs.python.org
table: orders customers invoices products
table2: employees shipments tickets visits
column: id name total created_at status
column2: country price quantity email city
place: Lisbon Zürich Kyoto Oslo
place2: Cork Perth Quito Nice"""
NAMES = "Anna|Tom O'Neil|José|Dr. Lee|the team|our supplier|Maria from sales|the landlord".split("|")
THINGS = """\
the invoice|the draft|a cake for six|the quarterly report|my essay|the garden|a used car|the lease|a wedding speech
the lesson plan|our holiday|the new policy|the minutes""".replace("\n", "|").split("|")

COMMANDS = """\
ls -la {folder}|cat {file}|head -n {n} {file}|tail -f {file}|grep -rn "{word}" {folder}|wc -l {file}|sort {file} -o {file}
sed -n '{n},{m}p' {file}|sed -i 's/{word}/{word2}/g' {file}|awk -F, '{{print $1, $3}}' {file}|cut -d, -f{k} {file} | sort | uniq -c
find {folder} -name '*.py' -mtime -{n}|find {folder} -type f -size +{n}k -print|find . -name '{word}*' -exec wc -l {{}} +
mkdir -p {folder}/{word}|cp {file} {folder}/|mv {file} {folder}/|rm {folder}/{word}.tmp|rm -f build/*.o|touch {folder}/.keep
tar -czf {word}.tar.gz {folder}|tar -tzf archive/2024.tar.gz|unzip -l {word}.zip|gzip -k {file}|du -sh {folder}|df -h
git status|git diff {branch}|git log --oneline -n {n}|git checkout -b {branch}|git add {file}|git commit -m "{word}: mend {word2}"
git pull --rebase origin {branch}|git push origin {branch}|git stash list|git blame -L {n},{m} {file}|git show {branch}:{file}
git rebase -i {branch}|git cherry-pick {branch}|git tag -a v{k}.{n} -m "version {k}.{n}"|git fetch --prune|git branch -d {branch}
npm install {package}|npm run build|npm test -- --watch=false|yarn add {package}|npx prettier --check {folder}
pip install {package}|pip install -r requirements.txt|python -m pytest -q {folder}|python -m venv .venv|uv sync|ruff check {folder}
pytest -k {word} -x|mypy {folder}|black {file}|go test ./...|go build ./cmd/{word}|cargo build --release|cargo test {word}
make -j{k} test|make clean|cmake -S . -B build|mvn -q package|gradle test|dotnet build|javac -d build {folder}/*.java
docker ps -a|docker build -t {word}:{n} .|docker logs --tail {n} {word}|docker compose up -d|docker images|docker exec {word} ls /app
kubectl get pods -n {word}|kubectl describe pod {word}-{n}|kubectl logs deploy/{word}|helm list -A|terraform plan|terraform fmt -check
curl -s https://{host}/v1/{word}|curl -I https://{host}|wget -q https://{host}/{word}.zip|ping -c {k} {host}|dig +short {host}
ps aux | grep {word}|kill {m}|top -b -n 1|free -m|uptime|uname -a|whoami|id|date +%F|env | sort|which {package}
ssh {word}@{host} uptime|scp {file} backup:{folder}/|rsync -av {folder}/ backup/{folder}/|crontab -l|systemctl status {word}
journalctl -u {word} -n {n}|chmod +x scripts/{word}.sh|ln -s {file} {folder}/link|diff {file} {file2}|patch -p1 < {word}.patch
jq '.items[] | .{column}' data/{word}.json|jq -r 'keys[]' package.json|xmllint --noout {word}.xml|convert a.png -resize {n}x{n} b.png
for f in {folder}/*.txt; do wc -w "$f"; done|test -f {file} && cat {file}|if [ -d {folder} ]; then ls {folder}; fi
while read -r line; do echo "$line"; done < {file}|export {word}={n}|echo "{word} $(date)" >> {file}|seq 1 {n} | xargs -I% echo item-%
sqlite3 data/{word}.db '.tables'|psql -c 'select count(*) from {table}'|mysql -e 'show tables'|redis-cli get {word}:{n}
brew install {package}|apt-get install -y {package}|apt list --installed|dnf search {package}|ffmpeg -i a.mov -vf scale={n}:-1 b.mp4
openssl x509 -in cert.pem -noout -dates|ssh-keygen -l -f key.pub|gh pr list --state open|gh issue view {n}|aws s3 ls s3://{word}-data
"""
QUERIES = """\
SELECT {column}, {column2} FROM {table} WHERE {column} > {n}|SELECT COUNT(*) FROM {table}
SELECT {column}, SUM(total) FROM {table} GROUP BY {column} ORDER BY 2 DESC LIMIT {n}
SELECT * FROM {table} WHERE name LIKE '{word}%' AND status = 'open'
SELECT a.{column}, b.name FROM {table} a JOIN {table2} b ON a.id = b.{table}_id WHERE b.country = 'DE'
SELECT DISTINCT {column} FROM {table} WHERE created_at BETWEEN '2024-01-01' AND '2024-12-31'
SELECT {column} FROM {table} WHERE id IN (SELECT id FROM {table2} WHERE price < {n})
WITH t AS (SELECT {column}, AVG(price) AS p FROM {table} GROUP BY {column}) SELECT * FROM t WHERE p > {n}
SELECT CASE WHEN price > {n} THEN 'high' ELSE 'low' END AS band, COUNT(*) FROM {table} GROUP BY 1
SELECT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY created_at DESC LIMIT {n} OFFSET {m}
SELECT name FROM {table} UNION SELECT name FROM {table2}|SELECT MAX(total) - MIN(total) FROM {table}
SELECT {column}, ROW_NUMBER() OVER (PARTITION BY country ORDER BY total DESC) FROM {table}
SELECT strftime('%Y', created_at) AS y, COUNT(*) FROM {table} GROUP BY y HAVING COUNT(*) > {n}
SELECT COALESCE({column}, 'none') FROM {table} LEFT JOIN {table2} USING (id) WHERE NOT status = 'closed'
SELECT city, COUNT(DISTINCT email) FROM {table} WHERE quantity BETWEEN {k} AND {n} GROUP BY city
"""
PROMPTS = """\
Please write {thing} for {name}.|Can you summarise {thing} in {k} sentences?|Translate {thing} into French, please.
What should I ask {name} before I sign {thing}?|Ignore the heading and check only the sums in {thing}.
Remind me to send {thing} to {name} before noon.|First read {thing}, then tell me what {name} has to do.
How do I tell {name} that {thing} is late?|List {k} things to do in {place} when it rains.
Act as my tutor and explain {thing} step by step.|You are an editor. Shorten {thing} to {n} words.
Never mind my last question, what is the weather in {place}?|Rewrite {thing} so that {name} does not feel blamed.
Compare {place} and {place2} for a family of {k}.|From now on answer in short sentences, please. How old is {place}?
Draft a reply to {name}: we can meet in {place} at {k} p.m.|Do not mention the price to {name} yet, it is a surprise.
Which documents must {name} bring to the office in {place}?|Pretend you are a guide in {place} and greet my group.
The system asks me to confirm {thing}; what happens if I don't?|Explain the rules of chess to {name}, who is {n} years old.
Repeat the recipe for {thing} with half the sugar.|Give me three titles for {thing} and say which one you prefer.
Is it true that {place} has more rain than {place2}?|Write a short story in which {name} finds {thing} in {place}.
"""
PARAGRAPHS = """\
{name} sent {thing} on Monday. Before you answer, please check the numbers on page {k} and tell {name} what is missing.
Note: the office in {place} is closed until Friday. Forward urgent mail to the desk on floor {k}.
To reset the device, hold the button for {k} seconds, then follow the instructions on the screen. Do not unplug it.
The assistant of {name} will confirm the appointment in {place}. Please bring {thing} and a photo.
Our policy changed in March: orders above {n} euros are sent without extra cost. The previous rules no longer apply.
Agenda: 1. {thing} 2. travel to {place} 3. questions from {name}. Please send further points before noon.
This page explains how the model answers questions about {thing}, and which documents it reads first.
"""


CALLS: tuple[tuple[str, dict[str, str]], ...] = (
    ("book_table", {"city": "{place}", "people": "{k}", "time": "19:{n}", "name": "{name}"}),
    ("get_weather", {"location": "{place}", "days": "{k}", "unit": "celsius"}),
    (
        "create_ticket",
        {"title": "{word} in {file}", "body": "See {thing}; it fails since {k} days.", "priority": "low"},
    ),
    ("search_products", {"query": "{thing} under {n} euros", "sort": "price desc", "page": "{k}"}),
    ("convert_currency", {"amount": "{m}.{n}", "from": "EUR", "to": "USD"}),
    ("calendar_add", {"title": "{thing} with {name}", "place": "{place}", "start": "2025-03-{n}T10:00:00"}),
    ("list_files", {"path": "{folder}", "pattern": "*.py", "recursive": "true"}),
    ("translate", {"text": "Please bring {thing} to {place}.", "target": "fr"}),
    ("route", {"from": "{place}", "to": "{place2}", "mode": "train", "avoid": "tolls"}),
    ("update_row", {"table": "{table}", "id": "{n}", "column": "{column}", "value": "{word}"}),
    ("set_reminder", {"text": "Call {name} about {thing}", "when": "tomorrow at {k}"}),
    ("http_get", {"url": "https://{host}/v{k}/{table}?page={k}&limit={n}&sort=-{column}"}),
    ("plot", {"kind": "bar", "x": "{column}", "y": "{column2}", "title": "{table} by {column}"}),
    ("solve", {"equation": "{k}x + {n} = {m}", "variable": "x"}),
    (
        "send_parcel",
        {"weight_kg": "{k}", "to": "{place2}", "note": "Leave it with {name}, please; ring twice"},
    ),
    ("play_music", {"query": "songs about {place} & rain", "volume": "{n}%"}),
)


def _blanks(draw: random.Random) -> dict[str, object]:
    found: dict[str, object] = {"name": draw.choice(NAMES), "thing": draw.choice(THINGS)}
    found |= {"file": draw.choice(FILES), "file2": draw.choice(FILES)}
    for line in LISTS.splitlines():
        blank, _, words = line.partition(": ")
        found[blank] = draw.choice(words.split())
    found["word2"] = draw.choice(["parser", "header", "login", "cache", "price"])
    return found | {"n": draw.randint(10, 90), "m": draw.randint(100, 900), "k": draw.randint(2, 9)}


# A bar inside a command line is a pipe; between two it has no blanks around it.
_TEMPLATES = {
    "commands": [one for line in COMMANDS.splitlines() for one in line.replace(" | ", "\0").split("|")],
    "queries": [one for line in QUERIES.splitlines() for one in line.split("|")],
    "prompts": [one for line in PROMPTS.splitlines() for one in line.split("|")],
    "paragraphs": PARAGRAPHS.splitlines(),
    "files": [
        "{folder}/{word}/{file}",
        "{file}",
        "./{folder}/{word}-{n}.txt",
        "{word}/{k}/{file}",
        "{folder}/{n}.json",
    ],
}


def ordinary(kind: str, count: int) -> Iterator[str]:
    """Texts of one kind: commands, queries, prompts, paragraphs or files."""
    draw = random.Random(kind)
    templates = [one.replace("\0", " | ") for one in _TEMPLATES[kind]]
    for index in range(count):
        yield templates[index % len(templates)].format_map(_blanks(draw))


def ordinary_calls(count: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Calls of tools with their arguments."""
    draw = random.Random("calls")
    for index in range(count):
        tool, arguments = CALLS[index % len(CALLS)]
        blanks = _blanks(draw)
        yield tool, {name: value.format_map(blanks) for name, value in arguments.items()}
