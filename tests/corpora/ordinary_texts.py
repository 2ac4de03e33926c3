"""Ordinary sentences and values, as they stand in the fields of actions: nothing in them runs anything."""

SENTENCES = r"""
touch base with the client
make dinner
make it so
kill the stuck process
at noon
split the bill
sort by date
install python for Bob
find the cheapest flight
watch the game
mail Ann
mail the report to finance
cut costs
cut costs by 10 percent
git is a tool
git cheat sheet
set up a call
import duties rose
print the report
return the keys
for sale: bike
class of 2024
open the door
open invoices from March
close the ticket
read the manual
write a summary
move the meeting to Friday
copy that
link to the page
join us at 5
cat videos
head of sales
tail risk
less is more
more information
top 10 customers
free shipping
who is on call
last quarter revenue
time to market
date of birth
test the login form
sleep tracking app
echo chamber
yes please
true north
file a complaint
type A personality
host a webinar
route to support
service agreement
script for the video
expect delays
screen time
mount the shelf
dig deeper
ping me when done
node of the network
go to the shop
go live tomorrow
rake the leaves
ruby necklace
cargo insurance
gem stones
brew coffee
code review
start the trial
stop the subscription
say hello
nice weather
wait for approval
trap the error
source of truth
export the data to Excel
exec summary
command center
local time
let me know
let us know by Monday
shift schedule
exit interview
history of payments
help desk
jobs in Berlin
clear the queue
reset my password
tee time
apply for leave
patch notes
strip the paint
size 42
fold the letter
column A
format the disk plan
format C as PDF
init meeting
halt production
reboot the router please
shutdown of the plant
batch 42 shipped
batch of cookies
passwd reset request
groups of four
users who churned
id of the order
bind the contract
complete the form
enable two factor
hash browns
parallel universe
wipe the table
dump truck
restore the backup for Ann
fetch the parcel
finger food
view the dashboard
man of the year
info about pricing
units sold
factor of two
zip code 10115
act on it
just do it
task list
snap a photo
express delivery
next steps
serve the customer
deploy the team
rename the file for Ann
mark as paid
sum of all orders
docker is nice
Docker Desktop
kubectl plugin
npm package
pip install guide for beginners
curl is a command
ssh into the box
rm is a command that deletes
sudo make me a sandwich please
chmod explained
wget the file
python developer
perl jam
bash the piñata
dd on the loan
nc license plate
ps I love you
su casa
dash of salt
fish and chips
vi is an editor
ed tech startup
if you can, call
while you wait
case closed
do not disturb
done and dusted
then we left
until tomorrow
select all
in stock
function of time
profit > loss
a -> b
1 < 2 > 0
this & that
Q&A; then lunch
buy | sell | hold
Sort | Filter | Export
50% off!
costs $100 more
cut $100 from the budget
email: ann@example.com
see (attached)
"quoted text"
it's fine
don't panic
- first point
# heading
* bullet
1. one
drop me a line
drop table reservation at the restaurant
""".strip().split("\n")
VALUES = r"""
users
EU-West
eu-west-1
2024-05-01
2024-05-01T10:00:00Z
a@b.example
ann.smith@example.com
3f2504e0-4f89-11d3-9a0c-0305e82c3301
ORD-2024-00017
get_user(3)
user.name
users/42
/api/v1/users
/home/ann/report.pdf
C:\Users\Ann\report.pdf
report.pdf
src/main.py
https://example.com/path?q=1&x=2
s3://bucket/key
{"a": 1, "b": [1, 2]}
[1, 2, 3]
true
null
42
-3.5
1e-9
10.0.0.1
10.0.0.0/8
fe80::1
+49 30 123456
Hauptstr. 5, 10115 Berlin
O'Brien
A & B GmbH
Müller
日本語
#ff8800
rgb(255, 0, 0)
12:30
v1.2.3
python3.11
node
docker
git
bash
make
reboot
shutdown
sort
active
deleted
read
write
GET
POST
application/json
utf-8
en_US.UTF-8
Europe/Berlin
USD
$19.99
€ 20
50 %
a=1
key=value
key: value
a,b,c
a;b;c
a|b|c
*.py
**/*.ts
^\d+$
[a-z]+
%Y-%m-%d
{name}
${name}
$name
<b>bold</b>
=SUM(A1:A3)
SELECT
feature/login
main
HEAD
HEAD~1
refs/heads/main
sha256:abcd
Bearer
abc123==
aGVsbG8=
0xff
0755
u+rw
-1
--
-
/
.
..
~
!
?
""".strip("\n").split("\n")
