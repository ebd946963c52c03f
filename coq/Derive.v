(* What Coq needs to check a derivation again: finite sums of symbolic length, partial derivatives, and tactics.

   A reader has to believe the definitions of this first part, and the statements of the theorems in the exported
   files. All else is proved from Coq's real numbers and Coquelicot; nothing is assumed here. *)
From Coq Require Import Reals Lra Lia Arith List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

(* ---- what must be believed: the meaning of what stands in the statements ---- *)
(* An axis is a size n : nat with 0 < n, an index a number below it. *)
Fixpoint Sum (n : nat) (f : nat -> R) : R := match n with O => 0 | S m => Sum m f + f m end.
Fixpoint Max (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S O => f O | S m => Rmax (Max m f) (f m) end.
Definition Min (n : nat) (f : nat -> R) : R := - Max n (fun k => - f k).
(* the least index at which f is largest *)
Fixpoint Argmax (n : nat) (f : nat -> R) : nat :=
  match n with O => O | S O => O | S m => if Rlt_dec (f (Argmax m f)) (f m) then m else Argmax m f end.
Definition ind {P Q : Prop} (d : {P} + {Q}) : R := if d then 1 else 0.
Definition delta (i j : nat) : R := ind (Nat.eq_dec i j).
Definition cases {P Q : Prop} (d : {P} + {Q}) (a b : R) : R := if d then a else b.

(* The point z with one entry replaced, and the derivative by that entry: pd1 F z j is the partial derivative of F by
   z j, for F a function of the whole array. `ex` says that it exists, of which Derive itself says nothing. *)
Definition upd1 (z : nat -> R) (j : nat) (t : R) : nat -> R := fun k => if Nat.eq_dec k j then t else z k.
Definition upd2 (z : nat -> nat -> R) (a b : nat) (t : R) : nat -> nat -> R :=
  fun i k => if Nat.eq_dec i a then (if Nat.eq_dec k b then t else z i k) else z i k.
Definition partial {A} (F : A -> R) (up : R -> A) (x : R) : R := Derive (fun t => F (up t)) x.
Definition ex_partial {A} (F : A -> R) (up : R -> A) (x : R) : Prop := ex_derive (fun t => F (up t)) x.
Notation pd0 F x := (partial F (fun t => t) x).
Notation pd1 F z j := (partial F (upd1 z j) (z j)).
Notation pd2 F z a b := (partial F (upd2 z a b) (z a b)).
Notation ex0 F x := (ex_partial F (fun t => t) x).
Notation ex1 F z j := (ex_partial F (upd1 z j) (z j)).
Notation ex2 F z a b := (ex_partial F (upd2 z a b) (z a b)).

Definition sigmoid (x : R) : R := / (1 + exp (- x)).
Definition softplus (x : R) : R := ln (1 + exp x).
Definition relu (x : R) : R := Rmax x 0.
Definition log1p (x : R) : R := ln (1 + x).
Definition expm1 (x : R) : R := exp x - 1.

(* ---- finite sums ---- *)
Lemma Sum_ext n f g : (forall k, (k < n)%nat -> f k = g k) -> Sum n f = Sum n g.
Proof. induction n; intros H; simpl; [reflexivity|]. rewrite IHn, H; auto. Qed.
Lemma Sum_plus n f g : Sum n (fun k => f k + g k) = Sum n f + Sum n g.
Proof. induction n; simpl; [ring|rewrite IHn; ring]. Qed.
Lemma Sum_scal n c f : Sum n (fun k => c * f k) = c * Sum n f.
Proof. induction n; simpl; [ring|rewrite IHn; ring]. Qed.
Lemma Sum_one n : Sum n (fun _ => 1) = INR n.
Proof. induction n; [reflexivity|]. rewrite S_INR. simpl. rewrite IHn. ring. Qed.
Lemma Sum_zero n : Sum n (fun _ => 0) = 0.
Proof. induction n; simpl; [reflexivity|rewrite IHn; ring]. Qed.
Lemma Sum_swap n m f : Sum n (fun i => Sum m (fun j => f i j)) = Sum m (fun j => Sum n (fun i => f i j)).
Proof. induction n; simpl; [symmetry; apply Sum_zero|]. rewrite IHn, <- Sum_plus. reflexivity. Qed.
(* a sum whose terms are a linear combination, each part a constant and what depends on the index *)
Lemma Sum_list n f (l : list (R * (nat -> R))) :
  (forall k, (k < n)%nat -> f k = fold_right (fun p acc => fst p * snd p k + acc) 0 l) ->
  Sum n f = fold_right (fun p acc => fst p * Sum n (snd p) + acc) 0 l.
Proof.
  intros H. rewrite (Sum_ext n f _ H). clear. induction l as [|[c d] l IH]; simpl; [apply Sum_zero|].
  rewrite Sum_plus, Sum_scal. f_equal. exact IH.
Qed.
Lemma Sum_spread n f c g : (forall k, (k < n)%nat -> c * f k = g k) -> c * Sum n f = Sum n g.
Proof. intros H. rewrite <- Sum_scal. apply Sum_ext, H. Qed.

Lemma delta_same i : delta i i = 1.
Proof. unfold delta, ind; destruct (Nat.eq_dec i i); congruence. Qed.
Lemma delta_diff i j : i <> j -> delta i j = 0.
Proof. unfold delta, ind; destruct (Nat.eq_dec i j); congruence. Qed.
Lemma delta_sym i j : delta i j = delta j i.
Proof. unfold delta, ind; destruct (Nat.eq_dec i j), (Nat.eq_dec j i); congruence. Qed.
Lemma Sum_delta n j f : (j < n)%nat -> Sum n (fun k => delta k j * f k) = f j.
Proof.
  induction n; intros H; [lia|]. simpl. destruct (Nat.eq_dec n j) as [->|E].
  - rewrite (Sum_ext j _ (fun _ => 0)). rewrite Sum_zero, delta_same; ring.
    intros k Hk. rewrite delta_diff by lia. ring.
  - rewrite IHn by lia. rewrite delta_diff by congruence. ring.
Qed.
Lemma Sum_sift n d j r : (j < n)%nat -> (forall k, (k < n)%nat -> d k = delta k j * r k) -> Sum n d = r j.
Proof. intros Hj H. rewrite (Sum_ext n d _ H). apply Sum_delta; assumption. Qed.
Lemma Sum_nonneg n f : (forall k, (k < n)%nat -> 0 <= f k) -> 0 <= Sum n f.
Proof. induction n; intros H; simpl; [lra|]. assert (0 <= f n) by auto. assert (0 <= Sum n f) by auto. lra. Qed.
Lemma Sum_pos n f : (0 < n)%nat -> (forall k, (k < n)%nat -> 0 < f k) -> 0 < Sum n f.
Proof.
  destruct n; intros Hn H; [lia|]. simpl. assert (0 < f n) by auto.
  assert (0 <= Sum n f) by (apply Sum_nonneg; intros; apply Rlt_le; auto). lra.
Qed.
Lemma Sum_le n f g : (forall k, (k < n)%nat -> f k <= g k) -> Sum n f <= Sum n g.
Proof. induction n; intros H; simpl; [lra|]. apply Rplus_le_compat; auto. Qed.
(* ---- largest values ---- *)
Lemma Max_ext n f g : (forall k, (k < n)%nat -> f k = g k) -> Max n f = Max n g.
Proof.
  induction n; intros H; [reflexivity|]. destruct n; [apply H; lia|].
  change (Rmax (Max (S n) f) (f (S n)) = Rmax (Max (S n) g) (g (S n))). rewrite IHn, H; auto.
Qed.
Lemma Max_shift n f g c : (0 < n)%nat -> (forall k, (k < n)%nat -> f k = g k + c) -> Max n f = Max n g + c.
Proof.
  destruct n; [lia|]. intros _. induction n; intros H; [apply H; lia|].
  change (Rmax (Max (S n) f) (f (S n)) = Rmax (Max (S n) g) (g (S n)) + c). rewrite IHn, H; auto.
  rewrite Rplus_max_distr_r. reflexivity.
Qed.
Lemma Min_ext n f g : (forall k, (k < n)%nat -> f k = g k) -> Min n f = Min n g.
Proof. intros H. unfold Min. f_equal. apply Max_ext. intros; rewrite H; auto. Qed.
Lemma Min_shift n f g c : (0 < n)%nat -> (forall k, (k < n)%nat -> f k = g k + c) -> Min n f = Min n g + c.
Proof.
  intros Hn H. unfold Min. rewrite (Max_shift n _ (fun k => - g k) (- c)); [ring|assumption|].
  intros k Hk. rewrite H by assumption. ring.
Qed.
Lemma Max_ge n f k : (k < n)%nat -> f k <= Max n f.
Proof.
  destruct n; [lia|]. revert k. induction n; intros k H; [replace k with 0%nat by lia; simpl; lra|].
  change (f k <= Rmax (Max (S n) f) (f (S n))). destruct (Nat.eq_dec k (S n)) as [->|E]; [apply Rmax_r|].
  eapply Rle_trans; [apply IHn; lia|apply Rmax_l].
Qed.
Lemma Min_le n f k : (k < n)%nat -> Min n f <= f k.
Proof. intros H. unfold Min. pose proof (Max_ge n (fun k => - f k) k H) as M. cbv beta in M. lra. Qed.
Lemma Argmax_lt n f : (0 < n)%nat -> (Argmax n f < n)%nat.
Proof.
  destruct n; [lia|]. intros _. induction n; [simpl; lia|].
  change (((if Rlt_dec (f (Argmax (S n) f)) (f (S n)) then S n else Argmax (S n) f) < S (S n))%nat).
  destruct (Rlt_dec _ _); lia.
Qed.
Lemma Max_Argmax n f : (0 < n)%nat -> Max n f = f (Argmax n f).
Proof.
  destruct n; [lia|]. intros _. induction n; [reflexivity|].
  change (Rmax (Max (S n) f) (f (S n)) = f (if Rlt_dec (f (Argmax (S n) f)) (f (S n)) then S n else Argmax (S n) f)).
  rewrite IHn. unfold Rmax. destruct (Rle_dec _ _), (Rlt_dec _ _); try reflexivity; lra.
Qed.
Lemma Max_attained n f : (0 < n)%nat -> exists k, (k < n)%nat /\ Max n f = f k.
Proof. intros H. exists (Argmax n f). split; [apply Argmax_lt|apply Max_Argmax]; assumption. Qed.

Lemma Sum_term n f j : (j < n)%nat -> (forall k, (k < n)%nat -> 0 <= f k) -> f j <= Sum n f.
Proof.
  intros Hj H. rewrite <- (Sum_delta n j f Hj). apply Sum_le. intros k Hk. specialize (H k Hk).
  unfold delta, ind; destruct (Nat.eq_dec k j); lra.
Qed.

(* ---- derivatives ---- *)
Notation isD := (@is_derive R_AbsRing R_NormedModule).
Lemma upd1_id z j : upd1 z j (z j) = z.
Proof. apply functional_extensionality; intros k; unfold upd1; destruct (Nat.eq_dec k j); congruence. Qed.
Lemma upd2_id z a b : upd2 z a b (z a b) = z.
Proof.
  apply functional_extensionality; intros i; apply functional_extensionality; intros k; unfold upd2.
  destruct (Nat.eq_dec i a); [|reflexivity]. destruct (Nat.eq_dec k b); congruence.
Qed.
Lemma d_const (c x : R) : isD (fun _ => c) x 0.
Proof. apply (@is_derive_const R_AbsRing R_NormedModule). Qed.
Lemma d_id (x : R) : isD (fun t => t) x 1.
Proof. apply (@is_derive_id R_AbsRing). Qed.
Lemma d_upd1 z j k x : isD (fun t => upd1 z j t k) x (delta k j).
Proof. unfold upd1, delta, ind; destruct (Nat.eq_dec k j); [apply d_id|apply d_const]. Qed.
Lemma d_upd2 z a b i k x : isD (fun t => upd2 z a b t i k) x (delta i a * delta k b).
Proof.
  unfold upd2, delta, ind; destruct (Nat.eq_dec i a), (Nat.eq_dec k b); rewrite ?Rmult_1_l, ?Rmult_0_l, ?Rmult_0_r;
  try apply d_id; apply d_const.
Qed.
Lemma d_plus f g x a b : isD f x a -> isD g x b -> isD (fun t => f t + g t) x (a + b).
Proof. intros; apply (@is_derive_plus R_AbsRing R_NormedModule f g); assumption. Qed.
Lemma d_minus f g x a b : isD f x a -> isD g x b -> isD (fun t => f t - g t) x (a - b).
Proof. intros; apply (@is_derive_minus R_AbsRing R_NormedModule f g); assumption. Qed.
Lemma d_opp f x a : isD f x a -> isD (fun t => - f t) x (- a).
Proof. intros; apply (@is_derive_opp R_AbsRing R_NormedModule f); assumption. Qed.
Lemma d_mult f g x a b : isD f x a -> isD g x b -> isD (fun t => f t * g t) x (a * g x + f x * b).
Proof. intros; apply (is_derive_mult f g); auto. intros; apply Rmult_comm. Qed.
Lemma d_scal_l c f x a : isD f x a -> isD (fun t => c * f t) x (c * a).
Proof. intros; apply (is_derive_scal f x c a); auto. Qed.
Lemma d_eq (f : R -> R) (x a b : R) : isD f x a -> @eq R a b -> isD f x b.
Proof. intros ? <-; assumption. Qed.
Lemma d_scal_r c f x a : isD f x a -> isD (fun t => f t * c) x (a * c).
Proof. intros H. eapply d_eq; [apply (d_mult f (fun _ => c) x a 0 H (d_const c x))|cbv beta; ring]. Qed.
Lemma d_divc c f x a : isD f x a -> isD (fun t => f t / c) x (a / c).
Proof. apply d_scal_r. Qed.
Lemma d_div f g x a b : isD f x a -> isD g x b -> g x <> 0 -> isD (fun t => f t / g t) x ((a * g x - f x * b) / (g x) ^ 2).
Proof. intros; apply is_derive_div; assumption. Qed.
Lemma d_inv g x b : isD g x b -> g x <> 0 -> isD (fun t => / g t) x (- b / (g x) ^ 2).
Proof. intros; apply is_derive_inv; assumption. Qed.
Lemma d_comp f g x a b : isD f (g x) a -> isD g x b -> isD (fun t => f (g t)) x (a * b).
Proof. intros. rewrite Rmult_comm. apply (is_derive_comp f g); assumption. Qed.
Lemma d_exp f x a : isD f x a -> isD (fun t => exp (f t)) x (exp (f x) * a).
Proof. intros; apply (d_comp exp f); [apply is_derive_Reals, derivable_pt_lim_exp|assumption]. Qed.
Lemma d_ln f x a : isD f x a -> 0 < f x -> isD (fun t => ln (f t)) x (/ f x * a).
Proof. intros; apply (d_comp ln f); [apply is_derive_Reals, derivable_pt_lim_ln; assumption|assumption]. Qed.
Lemma d_pow n f x a : isD f x a -> isD (fun t => f t ^ n) x (IZR (Z.of_nat n) * (f x) ^ pred n * a).
Proof.
  intros H. rewrite <- INR_IZR_INZ. apply (d_comp (fun u => u ^ n) f); [|exact H].
  apply is_derive_Reals. apply derivable_pt_lim_pow.
Qed.
Lemma d_sqrt f x a : isD f x a -> 0 < f x -> isD (fun t => sqrt (f t)) x (/ (2 * sqrt (f x)) * a).
Proof. intros; apply (d_comp sqrt f); [apply is_derive_Reals, derivable_pt_lim_sqrt; assumption|assumption]. Qed.
Lemma d_sigmoid f x a : isD f x a -> isD (fun t => sigmoid (f t)) x (sigmoid (f x) * (1 - sigmoid (f x)) * a).
Proof.
  intros H. assert (P := exp_pos (- f x)). eapply d_eq.
  - apply (d_inv (fun t => 1 + exp (- f t))); [|lra]. apply (d_plus (fun _ => 1)); [apply d_const|].
    apply (d_exp (fun t => - f t)), d_opp, H.
  - unfold sigmoid. cbv beta. field. lra.
Qed.
Lemma d_softplus f x a : isD f x a -> isD (fun t => softplus (f t)) x (sigmoid (f x) * a).
Proof.
  intros H. assert (P := exp_pos (f x)). eapply d_eq.
  - apply (d_ln (fun t => 1 + exp (f t))); [|lra]. apply (d_plus (fun _ => 1)); [apply d_const|].
    apply (d_exp f), H.
  - unfold sigmoid. cbv beta. rewrite exp_Ropp. field. lra.
Qed.
Lemma d_Sum n f x d : (forall k, (k < n)%nat -> isD (fun t => f t k) x (d k)) -> isD (fun t => Sum n (f t)) x (Sum n d).
Proof.
  induction n; intros H; simpl; [apply d_const|]. apply (d_plus (fun t => Sum n (f t)) (fun t => f t n)); auto.
Qed.
(* a derivative inside a derivative: its value G must be known for every t *)
Lemma d_partial {A} (F : R -> A -> R) (up : R -> R -> A) (y : R -> R) (G : R -> R) x l :
  (forall t, isD (fun s => F t (up t s)) (y t) (G t)) -> isD G x l ->
  isD (fun t => partial (F t) (up t) (y t)) x l.
Proof.
  intros H D. apply (is_derive_ext G); [|exact D].
  intros t. symmetry. apply is_derive_unique, H.
Qed.

(* ---- one lemma a rule of the kernel ---- *)
Section Rules.
Context {A : Type} (up : R -> A) (x : R).
Implicit Types f g : A -> R.
Notation D f := (partial f up x).
Notation ex f := (ex_partial f up x).
Lemma D_of f l : isD (fun t => f (up t)) x l -> D f = l.
Proof. apply is_derive_unique. Qed.
Lemma D_ok f : ex f -> isD (fun t => f (up t)) x (D f).
Proof. apply Derive_correct. Qed.
Lemma constant_rule c : D (fun _ => c) = 0.
Proof. apply D_of, d_const. Qed.
Lemma sum_rule f g : ex f -> ex g -> D (fun z => f z + g z) = D f + D g.
Proof. intros. apply D_of, (d_plus (fun t => f (up t)) (fun t => g (up t))); apply D_ok; assumption. Qed.
Lemma difference_rule f g : ex f -> ex g -> D (fun z => f z - g z) = D f - D g.
Proof. intros. apply D_of, (d_minus (fun t => f (up t)) (fun t => g (up t))); apply D_ok; assumption. Qed.
Lemma negation_rule f : ex f -> D (fun z => - f z) = - D f.
Proof. intros. apply D_of, (d_opp (fun t => f (up t))); apply D_ok; assumption. Qed.
Lemma constant_factor c f : ex f -> D (fun z => c * f z) = c * D f.
Proof. intros. apply D_of, (d_scal_l c (fun t => f (up t))); apply D_ok; assumption. Qed.
Lemma constant_divisor c f : ex f -> D (fun z => f z / c) = D f / c.
Proof. intros. apply D_of, (d_divc c (fun t => f (up t))); apply D_ok; assumption. Qed.
Lemma derivative_of_a_sum n (F : A -> nat -> R) :
  (forall k, (k < n)%nat -> ex (fun z => F z k)) -> D (fun z => Sum n (F z)) = Sum n (fun k => D (fun z => F z k)).
Proof. intros H. apply D_of, (d_Sum n (fun t k => F (up t) k)). intros; apply D_ok; auto. Qed.
(* those that speak of a value too need the point itself, z = up x *)
Context (z : A) (at_z : up x = z).
Ltac by_rule r := intros; apply D_of; eapply d_eq;
  [apply r; try (apply D_ok; assumption); cbv beta; rewrite ?at_z; assumption | cbv beta; rewrite ?at_z; reflexivity].
Lemma product_rule f g : ex f -> ex g -> D (fun z => f z * g z) = D f * g z + f z * D g.
Proof. by_rule (d_mult (fun t => f (up t)) (fun t => g (up t))). Qed.
Lemma quotient_rule f g : ex f -> ex g -> g z <> 0 -> D (fun z => f z / g z) = (D f * g z - f z * D g) / (g z) ^ 2.
Proof. by_rule (d_div (fun t => f (up t)) (fun t => g (up t))). Qed.
Lemma square_rule f : ex f -> D (fun z => f z ^ 2) = 2 * f z * D f.
Proof.
  intros. apply D_of. eapply d_eq; [apply (d_pow 2 (fun t => f (up t))), D_ok; assumption|].
  cbv beta. rewrite at_z. simpl. ring.
Qed.
Lemma chain_rule_exp f : ex f -> D (fun z => exp (f z)) = exp (f z) * D f.
Proof. by_rule (d_exp (fun t => f (up t))). Qed.
Lemma chain_rule_log f : ex f -> 0 < f z -> D (fun z => ln (f z)) = 1 / f z * D f.
Proof.
  intros. apply D_of. eapply d_eq; [apply (d_ln (fun t => f (up t))); [apply D_ok; assumption|]|];
  cbv beta; rewrite at_z; [assumption|]. unfold Rdiv. rewrite Rmult_1_l. reflexivity.
Qed.
Lemma chain_rule_sqrt f : ex f -> 0 < f z -> D (fun z => sqrt (f z)) = 1 / (2 * sqrt (f z)) * D f.
Proof.
  intros. apply D_of. eapply d_eq; [apply (d_sqrt (fun t => f (up t))); [apply D_ok; assumption|]|];
  cbv beta; rewrite at_z; [assumption|]. unfold Rdiv. rewrite Rmult_1_l. reflexivity.
Qed.
Lemma chain_rule_sigmoid f : ex f -> D (fun z => sigmoid (f z)) = sigmoid (f z) * (1 - sigmoid (f z)) * D f.
Proof. by_rule (d_sigmoid (fun t => f (up t))). Qed.
Lemma chain_rule_softplus f : ex f -> D (fun z => softplus (f z)) = sigmoid (f z) * D f.
Proof. by_rule (d_softplus (fun t => f (up t))). Qed.
End Rules.
Lemma variable_rule0 x : pd0 (fun y => y) x = 1.
Proof. apply is_derive_unique, d_id. Qed.
Lemma variable_rule1 z j k : pd1 (fun z => z k) z j = delta k j.
Proof. apply is_derive_unique, d_upd1. Qed.
Lemma variable_rule2 z a b i k : pd2 (fun z => z i k) z a b = delta i a * delta k b.
Proof. apply is_derive_unique, d_upd2. Qed.
(* inside a derivative an equation must hold at every point: no hypothesis about z survives the step *)
Lemma partial_ext {A} (F G : A -> R) up x : (forall w, F w = G w) -> partial F up x = partial G up x.
Proof. intros H. apply Derive_ext. intros; apply H. Qed.

(* ---- tactics: side conditions ---- *)
Ltac ix := solve [assumption | lia].
Ltac at_z := first [apply upd1_id | apply upd2_id | reflexivity].
Ltac pos :=
  cbv beta;
  first
  [ assumption
  | lazymatch goal with
    | |- 0 < exp _ => apply exp_pos
    | |- 0 < / _ => apply Rinv_0_lt_compat; pos
    | |- 0 < Sum _ _ => apply Sum_pos; [ix | intros; pos]
    | |- 0 < _ * _ => apply Rmult_lt_0_compat; pos
    | |- 0 < _ / _ => apply Rdiv_lt_0_compat; pos
    | |- 0 < _ + _ => first [apply Rplus_lt_0_compat; pos | apply Rplus_lt_le_0_compat; [pos | nneg] | apply Rplus_le_lt_0_compat; [nneg | pos]]
    | |- 0 < sqrt _ => apply sqrt_lt_R0; pos
    | |- 0 < INR _ => apply lt_0_INR; ix
    | |- 0 < _ ^ _ => apply pow_lt; pos
    | |- 0 < sigmoid _ => unfold sigmoid; pos
    | |- 0 < PI => apply PI_RGT_0
    end
  | match goal with H : forall _, _ |- _ => apply H; ix end
  | match goal with H : forall _, _ |- _ => apply H; [ix | ix] end
  | lra ]
with nneg :=
  cbv beta;
  first
  [ assumption
  | lazymatch goal with
    | |- 0 <= Sum _ _ => apply Sum_nonneg; intros; nneg
    | |- 0 <= _ * _ => apply Rmult_le_pos; nneg
    | |- 0 <= _ ^ 2 => apply pow2_ge_0
    | |- 0 <= INR _ => apply pos_INR
    | |- 0 <= sqrt _ => apply sqrt_pos
    | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; nneg
    | |- 0 <= delta _ _ => unfold delta, ind; destruct (Nat.eq_dec _ _); lra
    end
  | apply Rlt_le; pos
  | match goal with H : forall _, _ |- _ => apply H; ix end
  | lra ].
Ltac nz :=
  cbv beta;
  first
  [ assumption
  | match goal with H : forall _, _ |- _ => apply H; ix end
  | lazymatch goal with
    | |- _ * _ <> 0 => apply Rmult_integral_contrapositive_currified; nz
    | |- _ / _ <> 0 => apply Rmult_integral_contrapositive_currified; [nz | apply Rinv_neq_0_compat; nz]
    | |- _ ^ _ <> 0 => apply pow_nonzero; nz
    | |- / _ <> 0 => apply Rinv_neq_0_compat; nz
    end
  | apply Rgt_not_eq; unfold Rgt; pos ].
Ltac side := cbv beta; rewrite ?upd1_id, ?upd2_id; first [nz | pos | nneg | ix].

(* ---- tactics: a derivative by the form of its term ---- *)
(* f does not use its argument (a syntactic test: unification would unfold real numbers) *)
Ltac closed f :=
  let _ := constr:(fun tt : R => ltac:(let b := eval cbv beta in (f tt) in
    lazymatch b with context [tt] => fail | _ => exact I end)) in idtac.
Ltac value f := lazymatch f with fun _ => ?c => c end.
(* goal: isD (fun t => e) x ?l *)
Ltac diff :=
  cbv beta;
  lazymatch goal with
  | |- isD ?f _ _ => tryif closed f then (let c := value f in apply (d_const c)) else
    lazymatch f with
    | fun t => t => apply d_id
    | fun t => upd1 ?z ?j t ?k => apply d_upd1
    | fun t => upd2 ?z ?a ?b t ?i ?k => apply d_upd2
    | fun t => @?f t + @?g t => apply (d_plus f g); diff
    | fun t => @?f t - @?g t => apply (d_minus f g); diff
    | fun t => - @?f t => apply (d_opp f); diff
    | fun t => @?f t * @?g t =>
      tryif closed f then (let c := value f in apply (d_scal_l c g); diff)
      else tryif closed g then (let c := value g in apply (d_scal_r c f); diff)
      else (apply (d_mult f g); diff)
    | fun t => @?f t / @?g t =>
      tryif closed g then (let c := value g in apply (d_divc c f); diff)
      else (apply (d_div f g); [diff | diff | side])
    | fun t => / @?g t => apply (d_inv g); [diff | side]
    | fun t => exp (@?f t) => apply (d_exp f); diff
    | fun t => ln (@?f t) => apply (d_ln f); [diff | side]
    | fun t => sqrt (@?f t) => apply (d_sqrt f); [diff | side]
    | fun t => sigmoid (@?f t) => apply (d_sigmoid f); diff
    | fun t => softplus (@?f t) => apply (d_softplus f); diff
    | fun t => (@?f t) ^ ?n => apply (d_pow n f); diff
    | fun t => Sum ?n (@?f t) => eapply (d_Sum n f); let k := fresh "k" in let H := fresh "H" in intros k H; diff
    | fun t => partial (@?F t) (@?up t) (@?y t) =>
      eapply (d_partial F up y); [intros ?; eapply d_eq; [diff | cbv beta; rewrite ?upd1_id, ?upd2_id; reflexivity] | diff]
    end
  end.
(* goal: partial F up x = its derivative by the rules that diff follows *)
Ltac derivative := unfold partial; apply is_derive_unique; eapply d_eq; [diff | cbv beta; rewrite ?upd1_id, ?upd2_id; reflexivity].
(* existence of a derivative *)
Ltac dif := cbv beta; unfold ex_partial; eexists; diff.

(* ---- tactics: equations without binders ---- *)
Ltac conds := repeat split; try side.
(* an identity of rational functions; what is inside of sums is opaque *)
Ltac rat := cbv beta; cbn [INR Nat.pred]; lazymatch goal with |- @eq _ ?a ?b => change (@eq R a b) end; first [ring | field; conds].
(* the same, equal and unequal indices apart *)
Ltac indices :=
  repeat match goal with
  | |- context [delta ?a ?a] => rewrite (delta_same a)
  | |- context [delta ?a ?b] =>
    destruct (Nat.eq_dec a b) as [?E|?N];
    [first [exfalso; lia | subst; rewrite ?delta_same in *] | rewrite ?(delta_diff a b), ?(delta_diff b a) by congruence]
  end.
Ltac leaf := first [rat | indices; rat].
(* Sum n f = the combination given by the list l *)
Ltac parts := intros; cbn [fold_right fst snd]; leaf.
Ltac sift := intros; first [rat | rewrite ?(delta_sym _ _); rat | indices; rat].
Ltac same_sums := cbv beta; lazymatch goal with
  | |- Sum _ _ = Sum _ _ => apply Sum_ext; intros; same_sums
  | |- _ => leaf end.
(* two neighbouring sums of a row of sums exchanged, n levels down on the left side *)
Ltac swapped n := cbv beta; lazymatch n with
  | O => apply Sum_swap
  | S ?m => apply Sum_ext; intros; swapped m end.
Ltac swap n := eapply eq_trans; [swapped n|]; cbv beta.
Ltac by_cases := unfold cases, delta, ind; repeat match goal with |- context [if ?d then _ else _] => destruct d end;
  first [ring | exfalso; lia | exfalso; lra].
Ltac places := first [ix | match goal with H : forall _, _ |- _ => apply H; ix end].
(* exp of a sum as a product: u is the argument written with unit coefficients *)
Lemma exp_minus a b : exp (a - b) = exp a * / exp b.
Proof. unfold Rminus. rewrite exp_plus, exp_Ropp. reflexivity. Qed.
Ltac exps u := cbv beta; match goal with |- exp ?a = _ => replace a with u by leaf end;
  unfold Rminus; rewrite ?exp_plus, ?exp_Ropp, ?exp_0; try rewrite ?exp_ln by pos; rat.
Ltac lns u := cbv beta; match goal with |- ln ?a = _ => replace a with u by leaf end;
  repeat (rewrite ln_mult by pos); repeat (rewrite ln_Rinv by pos); rewrite ?ln_exp, ?ln_1; rat.
(* definitions of the user's are unfolded by name, from the hint database `user` *)
Create HintDb user.
Ltac known := autounfold with user in *; side.
Ltac exists_ := autounfold with user; dif.
Ltac defined := cbv zeta; repeat match goal with |- _ /\ _ => split end; intros;
  autounfold with user in *; first [side | dif].
