"""Everyday command lines, as people and tools type them: none of them may raise an alarm."""

EVERYDAY = r"""
ls
ls -lah --color=auto
ls -1 *.md | head -20
pwd
cd src && ls
cd ..
cd -
mkdir -p build/out/debug
rmdir build/empty
touch notes.txt
cp -r assets dist/assets
cp -n config.example.yml config.yml
mv draft.md final.md
ln -s ../shared shared
rm -f build/*.o
rm -rf dist .cache coverage
cat README.md LICENSE
cat -n main.py | sed -n '10,20p'
tac access.log | head
head -n 5 data.csv
tail -n +2 data.csv | sort -t, -k3 -n
tail -f logs/app.log
less README.md
wc -l src/*.py
sort names.txt | uniq -c | sort -rn | head -10
cut -d, -f1,3 data.csv
paste a.txt b.txt
join -t, a.csv b.csv
tr '[:lower:]' '[:upper:]' < in.txt > out.txt
fold -w 80 -s essay.txt
fmt -w 72 essay.txt
nl -ba main.c
rev words.txt
shuf -n 1 quotes.txt
split -l 1000 big.csv part_
csplit notes.md '/^# /' '{*}'
comm -12 <(sort a) <(sort b)
diff -ru old new
diff a.json b.json || true
cmp a.bin b.bin
patch -p1 < fix.patch
file image.png
stat -c '%s %n' *.zip
du -sh * | sort -h
df -h
tree -L 2 -I node_modules
find . -type f -name '*.js' -not -path './node_modules/*'
find . -mtime -7 -type f
find . -type d -empty -delete
find src -name '*.orig' -exec rm {} \;
find . -name '*.md' -print0 | xargs -0 wc -w
fd -e py
rg -n 'TODO' --type py
rg --files | wc -l
grep -R --include='*.go' 'func main' .
grep -c ERROR app.log
grep -v '^#' settings.conf
egrep -o '[0-9]+' numbers.txt
ag 'deprecated' lib
awk -F, '{print $2}' data.csv
awk '{s+=$1} END {print s/NR}' times.txt
awk 'NR % 2 == 0' lines.txt
sed 's/foo/bar/g' in.txt
sed -i '' 's/v1/v2/' api.yml
sed -n '/start/,/end/p' log.txt
sed -e 's/a/b/' -e '/^$/d' x.txt
xargs -I{} cp {} backup/ < files.txt
tee -a build.log < out.txt
echo "hello world"
echo -e 'a\tb'
echo "$HOME"
echo "PATH is $PATH"
printf '%s\n' one two three
printf "%-10s %5d\n" apples 3
date
date -u +%Y-%m-%dT%H:%M:%SZ
date -d '2 days ago' +%F
cal 2026
uptime
uname -sr
whoami
id -un
groups
hostname
who
w
env | sort
printenv PATH
export NODE_ENV=production
export PATH="$HOME/.local/bin:$PATH"
unset DEBUG
alias ll='ls -l'
type python3
which -a node
command -v docker
history | tail -20
sleep 2
time make
watch -n 5 kubectl get pods
nproc
free -h
vmstat 1 5
iostat -x
lscpu
lsblk
lsusb
top -b -n 1 | head
htop
ps -ef | grep nginx
ps aux --sort=-%mem | head
pgrep -fl node
kill 4312
kill -TERM 4312
pkill -f 'celery worker'
jobs
fg %1
nohup python train.py > train.log 2>&1 &
wait
tmux new -s work
tmux ls
screen -ls
tar -czf site.tar.gz public
tar -tf site.tar.gz
tar -xvf site.tar.gz -C out
zip -r app.zip app -x '*.pyc'
unzip -l app.zip
unzip -q app.zip -d app
gzip -k big.txt
gunzip big.txt.gz
zcat log.gz | grep WARN
bzip2 -d x.bz2
xz -9 dump.sql
7z x archive.7z
zstd -19 data.bin
git status -sb
git add -p
git add .
git commit -m "Fix the parser"
git commit --amend --no-edit
git push
git push -u origin feature/login
git pull --rebase
git fetch --all --prune
git checkout -b hotfix
git switch main
git merge --no-ff feature
git rebase main
git stash
git stash pop
git log --oneline --graph -15
git diff --stat HEAD~3
git show HEAD:README.md
git blame -L 10,20 main.py
git branch -vv
git tag -a v1.2.0 -m 'Release 1.2.0'
git remote -v
git clone https://github.com/example/project.git
git submodule update --init --recursive
git bisect start
git cherry-pick abc1234
git reset HEAD~1
git restore --staged file.txt
git clean -fdn
git config user.email dev@example.com
git ls-files | wc -l
git grep -n needle
git rev-parse --short HEAD
git worktree add ../hotfix main
gh pr create --fill
gh pr list --state open
gh issue view 12
gh run watch
glab mr list
svn update
hg log -l 5
npm ci
npm install --save-dev jest
npm run test -- --watch
npm outdated
npm audit
npx prettier --write .
npx tsc --noEmit
yarn
yarn add lodash
yarn workspace web build
pnpm install --frozen-lockfile
pnpm -r build
bun install
bun run dev
node --version
node server.js
node --inspect app.js
deno test
tsc -p tsconfig.json
eslint src --fix
prettier --check .
jest --coverage
vitest run
webpack --mode production
vite build
next build
python --version
python3 app.py --port 8000
python -m venv .venv
source .venv/bin/activate
deactivate
pip install -U pip
pip install -e '.[dev]'
pip freeze > requirements.txt
pip show requests
pipx install black
uv sync
uv run pytest
poetry install
poetry add httpx
pytest -x -q tests/unit
pytest --cov=src --cov-report=term-missing
python -m pytest -k parser
python -m unittest discover
tox -e py311
nox -s lint
ruff check .
ruff format .
black --check src
isort .
mypy src
flake8
pylint app
pre-commit run --all-files
coverage report
jupyter notebook
ipython
django-admin startproject site
python manage.py migrate
flask run --debug
uvicorn app:app --reload
gunicorn -w 4 app:app
celery -A app worker -l info
alembic upgrade head
conda create -n ml python=3.11
conda activate ml
conda env export > environment.yml
cargo build
cargo test --release
cargo clippy -- -D warnings
cargo fmt --check
cargo run --example demo
rustc main.rs
rustup update
go build ./...
go test -race ./...
go mod tidy
go vet ./...
gofmt -w main.go
golangci-lint run
gcc -O2 -Wall -o app main.c
g++ -std=c++20 main.cpp
clang -S -emit-llvm a.c
make
make -j8
make install PREFIX=./out
cmake -S . -B build -G Ninja
cmake --build build
ninja -C build
meson setup build
./configure --prefix=$PWD/out
./gradlew build
gradle test
mvn -q clean package
mvn test -Dtest=FooTest
javac Main.java
java -jar app.jar
kotlinc main.kt
sbt compile
dotnet build
dotnet test
dotnet run --project src/App
ruby script.rb
bundle install
bundle exec rspec
rails db:migrate
rake test
gem list
php -l index.php
composer install
phpunit
perl -v
lua main.lua
ghc Main.hs
stack build
cabal test
elixir script.exs
mix test
mix deps.get
swift build
swiftc main.swift
xcodebuild -scheme App build
flutter pub get
dart format .
Rscript analysis.R
julia script.jl
docker ps -a
docker images
docker build -t web:latest .
docker run --rm -p 8080:80 web
docker logs -f web
docker exec web ls /app
docker compose up -d --build
docker compose logs api
docker stop web
docker rm web
docker pull postgres:16
docker inspect web
docker tag web registry.example.com/web:1
docker push registry.example.com/web:1
docker network ls
docker-compose ps
podman ps
kubectl get nodes -o wide
kubectl describe pod api-1
kubectl logs -f deploy/api
kubectl apply -f k8s/
kubectl rollout status deploy/api
kubectl config get-contexts
kubectl top pods
kubectl port-forward svc/api 8080:80
helm list
helm upgrade --install api charts/api
kustomize build overlays/dev
k9s
minikube start
terraform init
terraform fmt -check
terraform validate
terraform apply
ansible-playbook site.yml --check
vagrant up
packer validate image.pkr.hcl
aws s3 ls s3://bucket
aws s3 cp s3://bucket/data.csv .
aws ec2 describe-instances
aws sts get-caller-identity
gcloud config list
gcloud compute instances list
az account show
az group list
heroku logs --tail
vercel --prod
netlify deploy
flyctl status
firebase emulators:start
curl -I https://example.com
curl -sS https://api.example.com/v1/items | jq '.[0]'
curl -X DELETE https://api.example.com/items/3
curl -H "Authorization: Bearer $TOKEN" https://api.example.com/me
curl -fsSLO https://example.com/tool.zip
wget -c https://example.com/big.iso
http GET https://httpbin.org/get
ping -c 3 example.com
dig +short example.com
nslookup example.com
host example.com
traceroute example.com
whois example.com
nc -zv localhost 5432
ss -tlnp
netstat -an | grep 8080
lsof -i :3000
ip addr
ifconfig
ssh dev@build.example.com
ssh -p 2222 dev@host.example.com 'df -h'
scp dev@host.example.com:/var/log/app.log .
rsync -avz --delete src/ backup/
sftp dev@host.example.com
ssh-keygen -t ed25519 -C dev@example.com
openssl version
openssl req -new -key server.key -out server.csr
gpg --verify file.sig file
sha256sum *.tar.gz
md5sum file.iso
base64 < logo.png
xxd -l 64 file.bin
hexdump -C file.bin | head
uuidgen
jq -r '.name' package.json
yq '.services' docker-compose.yml
xmllint --format a.xml
csvcut -c 1,2 data.csv
sqlite3 app.db '.tables'
sqlite3 app.db 'select count(*) from users'
psql -h localhost -U app -d app -c '\dt'
mysql -u root -p app -e 'SHOW TABLES'
redis-cli ping
mongosh --eval 'db.stats()'
pg_dump app > backup.sql
apt list --installed
apt-cache search nginx
brew install ripgrep
brew update && brew upgrade
dnf info htop
pacman -Q
snap list
vim notes.md
nano config.yml
code .
emacs -nw file.el
open report.pdf
xdg-open https://example.com
pandoc README.md -o README.pdf
convert in.png -resize 50% out.png
ffmpeg -i in.mov -c:v libx264 out.mp4
ffprobe in.mp4
identify photo.jpg
pdftotext paper.pdf
dot -Tpng graph.dot -o graph.png
shellcheck deploy.sh
bash -n deploy.sh
bash deploy.sh staging
sh scripts/build.sh
chmod +x scripts/build.sh
chmod -R u+rwX,go+rX public
umask 022
bc <<< '2^10'
echo '3.5 * 2' | bc -l
seq 5
seq 1 2 9 | paste -sd,
expr 3 + 4
yes | head -3
test -f .env && echo found
[ -n "$CI" ] && echo "in CI"
[[ $BRANCH == main ]] && echo deploy
if [ "$#" -lt 1 ]; then echo "usage: $0 FILE"; exit 1; fi
for f in *.png; do convert "$f" "${f%.png}.jpg"; done
for i in $(seq 1 5); do echo "round $i"; done
for h in a b c; do ping -c1 "$h.example.com"; done
while read -r line; do echo "$line"; done < hosts.txt
while ! nc -z localhost 5432; do sleep 1; done
until curl -sf localhost:8080/health; do sleep 2; done
i=0; while [ $i -lt 10 ]; do echo $i; i=$((i + 1)); done
for ((i = 0; i < 5; i++)); do echo "$i"; done
count=$(ls | wc -l); echo "$((count * 2)) halves"
total=0; for n in 1 2 3; do total=$((total + n)); done; echo $total
files=(a.txt b.txt); echo "${#files[@]} files"; for f in "${files[@]}"; do cat "$f"; done
declare -A ports=([web]=80 [db]=5432); echo "${ports[web]}"
name=${1:-world}; echo "hello ${name^}"
base=$(basename "$file" .txt)
read -p "Continue? " answer
read -ra parts <<< "$line"
mapfile -t lines < list.txt
set -euo pipefail
set -x
trap 'rm -f "$tmp"' EXIT
tmp=$(mktemp); echo data > "$tmp"; cat "$tmp"
case "$OSTYPE" in linux*) echo linux;; darwin*) echo mac;; esac
select x in a b c; do echo $x; break; done
greet() { local who=$1; echo "hi $who"; }; greet Ann
main() { helper; }; helper() { echo ok; }; main
. ./lib.sh && run_checks
cat <<EOF > config.ini
(cd web && npm run build)
{ echo a; echo b; } | sort
echo done 2>&1 | tee out.log
make > /dev/null 2>&1 && echo ok
ls | while read f; do echo "$f"; done
diff <(curl -s https://a.example.com) <(curl -s https://b.example.com)
env FOO=bar node app.js
FOO=bar BAZ=1 ./run.sh
timeout 30 pytest
nice -n 10 make
parallel gzip ::: *.log
seq 10 | parallel -j4 echo
xclip -selection clipboard < notes.txt
systemctl status nginx
journalctl -u app -n 50
crontab -l
export $(grep -v '^#' .env | xargs)
shopt -s globstar nullglob
hyperfine 'sleep 0.1'
ab -n 100 -c 10 http://localhost:8080/
openssl rand -base64 24
head -c 32 /dev/urandom | base64
tr -dc 'a-z0-9' < /dev/urandom | head -c 12
dd if=/dev/zero of=disk.img bs=1M count=64
mkdir -p logs && echo start >> logs/app.log
printf -v padded '%05d' 42; echo "$padded"
let total=1+2; echo $total
(( total = 1 + 2 )); echo $total
x=5; (( x > 3 )) && echo big
arr=(1 2 3); echo "${arr[1]}"; arr[1]=9
getopts 'ab:' opt
""".strip().split("\n")
EVERYDAY[EVERYDAY.index("cat <<EOF > config.ini")] = "cat <<EOF > config.ini\nport=80\nname=$USER\nEOF"
