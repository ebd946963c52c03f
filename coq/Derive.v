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
Lemma Sum_null n f : (forall k, (k < n)%nat -> f k = 0) -> Sum n f = 0.
Proof. intros H. rewrite (Sum_ext n f (fun _ => 0) H). apply Sum_zero. Qed.
Lemma mult_null c x : x = 0 -> c * x = 0.
Proof. intros ->. ring. Qed.
Lemma Sum_spread n f c g : (forall k, (k < n)%nat -> c * f k = g k) -> c * Sum n f = Sum n g.
Proof. intros H. rewrite <- Sum_scal. apply Sum_ext, H. Qed.

Lemma delta_same i : delta i i = 1.
Proof. unfold delta, ind; destruct (Nat.eq_dec i i); congruence. Qed.
Lemma delta_diff i j : i <> j -> delta i j = 0.
Proof. unfold delta, ind; destruct (Nat.eq_dec i j); congruence. Qed.
Lemma delta_eq i j : i = j -> delta i j = 1.
Proof. intros ->. apply delta_same. Qed.
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
Lemma Sum_opp n f : Sum n (fun k => - f k) = - Sum n f.
Proof. induction n; simpl; [ring|rewrite IHn; ring]. Qed.
Lemma Sum_nonpos n f : (forall k, (k < n)%nat -> f k <= 0) -> Sum n f <= 0.
Proof.
  intros H. assert (0 <= Sum n (fun k => - f k)) as P by (apply Sum_nonneg; intros k Hk; specialize (H k Hk); lra).
  rewrite Sum_opp in P. lra.
Qed.
Lemma Sum_neg n f : (0 < n)%nat -> (forall k, (k < n)%nat -> f k < 0) -> Sum n f < 0.
Proof.
  intros Hn H. assert (0 < Sum n (fun k => - f k)) as P by (apply Sum_pos; [assumption|]; intros k Hk; specialize (H k Hk); lra).
  rewrite Sum_opp in P. lra.
Qed.
Lemma Sum_pos_at n f j : (j < n)%nat -> (forall k, (k < n)%nat -> 0 <= f k) -> 0 < f j -> 0 < Sum n f.
Proof.
  revert j. induction n; intros j Hj H P; [lia|]. simpl. assert (0 <= f n) by auto.
  assert (0 <= Sum n f) by (apply Sum_nonneg; auto). destruct (Nat.eq_dec j n) as [->|N]; [lra|].
  assert (0 < Sum n f) by (apply (IHn j); auto; lia). lra.
Qed.
(* those that are as large as the largest *)
Lemma ties_pos n f : (0 < n)%nat -> 0 < Sum n (fun k => cases (Req_EM_T (f k) (Max n f)) 1 0).
Proof.
  intros N. assert (A : exists k, (k < n)%nat /\ Max n f = f k).
  { destruct n; [lia|]. clear N. induction n; [exists O; split; [lia|reflexivity]|].
    destruct IHn as [k [K E]]. change (exists k, (k < S (S n))%nat /\ Rmax (Max (S n) f) (f (S n)) = f k).
    unfold Rmax. destruct (Rle_dec _ _); [exists (S n)|exists k]; split; try lia; try reflexivity; exact E. }
  destruct A as [j [Hj M]]. apply (Sum_pos_at n _ j Hj).
  - intros k _. unfold cases. destruct (Req_EM_T _ _); lra.
  - unfold cases. destruct (Req_EM_T _ _); [lra|congruence].
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
Lemma Min_Argmax n f : (0 < n)%nat -> Min n f = f (Argmax n (fun k => - f k)).
Proof. intros H. unfold Min. rewrite Max_Argmax by assumption. cbv beta. ring. Qed.
Lemma Argmax_shift n f g c : (forall k, (k < n)%nat -> f k = g k + c) -> Argmax n f = Argmax n g.
Proof.
  destruct n; [reflexivity|]. induction n; intros H; [reflexivity|].
  change ((if Rlt_dec (f (Argmax (S n) f)) (f (S n)) then S n else Argmax (S n) f) =
          (if Rlt_dec (g (Argmax (S n) g)) (g (S n)) then S n else Argmax (S n) g)).
  assert (B := Argmax_lt (S n) g ltac:(lia)).
  rewrite IHn by auto. rewrite (H (Argmax (S n) g)), (H (S n)) by lia.
  destruct (Rlt_dec _ _), (Rlt_dec _ _); try reflexivity; lra.
Qed.
Lemma Max_attained n f : (0 < n)%nat -> exists k, (k < n)%nat /\ Max n f = f k.
Proof. intros H. exists (Argmax n f). split; [apply Argmax_lt|apply Max_Argmax]; assumption. Qed.

Lemma Sum_term n f j : (j < n)%nat -> (forall k, (k < n)%nat -> 0 <= f k) -> f j <= Sum n f.
Proof.
  intros Hj H. rewrite <- (Sum_delta n j f Hj). apply Sum_le. intros k Hk. specialize (H k Hk).
  unfold delta, ind; destruct (Nat.eq_dec k j); lra.
Qed.

(* of positive terms one is less than all, where there are two; and two different ones are not more than all *)
Lemma Sum_two n f i j : (i < n)%nat -> (j < n)%nat -> i <> j -> (forall k, (k < n)%nat -> 0 <= f k) -> f i + f j <= Sum n f.
Proof.
  intros Hi Hj N H. replace (f i + f j) with (Sum n (fun k => (delta k i + delta k j) * f k)).
  - apply Sum_le. intros k Hk. specialize (H k Hk). unfold delta, ind.
    destruct (Nat.eq_dec k i), (Nat.eq_dec k j); try lra; lia.
  - rewrite (Sum_ext n _ (fun k => delta k i * f k + delta k j * f k)) by (intros; ring).
    rewrite Sum_plus, !Sum_delta by assumption. reflexivity.
Qed.
Lemma Sum_more n f i : (2 <= n)%nat -> (i < n)%nat -> (forall k, (k < n)%nat -> 0 < f k) -> f i < Sum n f.
Proof.
  intros Hn Hi H. set (j := if Nat.eq_dec i 0 then 1%nat else 0%nat).
  assert (Hj : (j < n)%nat) by (unfold j; destruct (Nat.eq_dec i 0); lia).
  assert (N : i <> j) by (unfold j; destruct (Nat.eq_dec i 0); lia).
  pose proof (Sum_two n f i j Hi Hj N (fun k Hk => Rlt_le _ _ (H k Hk))). specialize (H j Hj). lra.
Qed.

(* where there are two, the others than one are some *)
Lemma Sum_others n i f : (2 <= n)%nat -> (i < n)%nat -> (forall k, (k < n)%nat -> k <> i -> 0 < f k) ->
  0 < Sum n (fun k => (1 - delta k i) * f k).
Proof.
  intros N I H. set (j := if Nat.eq_dec i 0 then 1%nat else 0%nat).
  assert (J : (j < n)%nat /\ j <> i) by (unfold j; destruct (Nat.eq_dec i 0); lia). destruct J as [J D].
  apply (Sum_pos_at n (fun k => (1 - delta k i) * f k) j J).
  - intros k K. unfold delta, ind. destruct (Nat.eq_dec k i) as [E|E]; [lra|]. specialize (H k K E). lra.
  - rewrite (delta_diff j i D). specialize (H j J D). lra.
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
Lemma d_Rpower c f x a : isD f x a -> isD (fun t => Rpower c (f t)) x (Rpower c (f x) * (a * ln c)).
Proof. intros H. apply (d_exp (fun t => f t * ln c)), d_scal_r, H. Qed.
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
Lemma sigmoid_below x : 0 < 1 - sigmoid x.
Proof.
  unfold sigmoid. pose proof (exp_pos (- x)). assert (/ (1 + exp (- x)) < / 1) by (apply Rinv_lt_contravar; lra). lra.
Qed.
Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [H| ->]; [left; apply exp_increasing; exact H|right; reflexivity]. Qed.
Lemma mult_npos a b : a <= 0 -> b <= 0 -> 0 <= a * b.
Proof. intros; nra. Qed.
Lemma mult_npos_r a b : 0 <= a -> b <= 0 -> a * b <= 0.
Proof. intros; nra. Qed.
Lemma mult_npos_l a b : a <= 0 -> 0 <= b -> a * b <= 0.
Proof. intros; nra. Qed.
Lemma add_npos a b : a <= 0 -> b <= 0 -> a + b <= 0.
Proof. intros; lra. Qed.
Lemma ln_npos x : 0 < x -> x <= 1 -> ln x <= 0.
Proof. intros P [H| ->]; [rewrite <- ln_1; left; apply ln_increasing; assumption|rewrite ln_1; right; reflexivity]. Qed.
Lemma ln_nneg x : 1 <= x -> 0 <= ln x.
Proof. intros [H| <-]; [rewrite <- ln_1; left; apply ln_increasing; lra|rewrite ln_1; right; reflexivity]. Qed.
Lemma ln_pos x : 1 < x -> 0 < ln x.
Proof. intros H. rewrite <- ln_1. apply ln_increasing; lra. Qed.
Lemma div_below_one a b : 0 < b -> a <= b -> a / b <= 1.
Proof. intros P H. apply (Rmult_le_reg_r b); [exact P|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l; lra. Qed.
Ltac ix := solve [assumption | lia].
Ltac at_z := first [apply upd1_id | apply upd2_id | reflexivity].
Ltac pos :=
  cbv beta;
  first
  [ assumption
  | lazymatch goal with
    | |- 0 < exp _ => apply exp_pos
    | |- 0 < / _ => apply Rinv_0_lt_compat; pos
    | |- 0 < Sum ?n ?f => first
      [ apply Sum_pos; [ix | intros; pos]
      | apply ties_pos; ix
      | match goal with Hi : (?i < n)%nat |- _ => apply (Sum_pos_at n f i); [ix | intros; nneg | pos] end ]
    | |- 0 < cases ?d _ _ => unfold cases; destruct d; [pos | exfalso; lia]
    | |- 0 < _ * _ => apply Rmult_lt_0_compat; pos
    | |- 0 < _ / _ => apply Rdiv_lt_0_compat; pos
    | |- 0 < _ + _ => first [apply Rplus_lt_0_compat; pos | apply Rplus_lt_le_0_compat; [pos | nneg] | apply Rplus_le_lt_0_compat; [nneg | pos]]
    | |- 0 < sqrt _ => apply sqrt_lt_R0; pos
    | |- 0 < INR _ => apply lt_0_INR; ix
    | |- 0 < _ ^ _ => apply pow_lt; pos
    | |- 0 < sigmoid _ => unfold sigmoid; pos
    | |- 0 < 1 - sigmoid _ => apply sigmoid_below
    | |- 0 < PI => apply PI_RGT_0
    | |- 0 < softplus _ => unfold softplus; pos
    | |- 0 < Rpower _ _ => apply exp_pos
    | |- 0 < ln (1 + ?x) => apply ln_pos; assert (0 < x) by pos; lra
    | |- 0 < ln (?x + 1) => apply ln_pos; assert (0 < x) by pos; lra
    end
  | match goal with H : forall _, _ |- _ => apply H; ix end
  | match goal with H : forall _, _ |- _ => apply H; [ix | ix] end
  | match goal with N : ?x <> 0 |- 0 < ?x => assert (0 <= x) by nneg; lra end
  | lra ]
with nneg :=
  cbv beta;
  first
  [ assumption
  | lazymatch goal with
    | |- 0 <= Sum _ _ => apply Sum_nonneg; intros; nneg
    | |- 0 <= _ * _ => first [apply Rmult_le_pos; nneg | apply mult_npos; npos]
    | |- 0 <= _ / _ => apply Rmult_le_pos; [nneg | apply Rlt_le, Rinv_0_lt_compat; pos]
    | |- 0 <= _ ^ 2 => apply pow2_ge_0
    | |- 0 <= _ ^ _ => apply pow_le; nneg
    | |- 0 <= INR _ => apply pos_INR
    | |- 0 <= sqrt _ => apply sqrt_pos
    | |- 0 <= Rabs _ => apply Rabs_pos
    | |- 0 <= relu _ => apply Rmax_r
    | |- 0 <= Rmax _ 0 => apply Rmax_r
    | |- 0 <= Rmax 0 _ => apply Rmax_l
    | |- 0 <= - _ => apply Ropp_0_ge_le_contravar, Rle_ge; npos
    | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; nneg
    | |- 0 <= delta _ _ => unfold delta, ind; destruct (Nat.eq_dec _ _); lra
    | |- 0 <= 1 - delta _ _ => unfold delta, ind; destruct (Nat.eq_dec _ _); lra
    | |- 0 <= cases ?d _ _ => unfold cases; destruct d; nneg
    | |- 0 <= ln _ => apply ln_nneg; above_one
    end
  | apply Rlt_le; pos
  | match goal with H : forall _, _ |- _ => apply H; ix end
  | match goal with H : forall _, _ |- _ => apply Rge_le, H; ix end
  | match goal with
    | H : _ = 0 \/ _ = 1 |- _ => destruct H as [-> | ->]; lra
    | H : forall i, (i < _)%nat -> _ = 0 \/ _ = 1 |- 0 <= _ ?i => destruct (H i ltac:(ix)) as [-> | ->]; lra
    | H : forall i, (i < _)%nat -> forall j, (j < _)%nat -> _ = 0 \/ _ = 1 |- 0 <= _ ?i ?j =>
      destruct (H i ltac:(ix) j ltac:(ix)) as [-> | ->]; lra
    end
  | lra ]
with npos :=
  cbv beta;
  first
  [ assumption
  | lazymatch goal with
    | |- Sum _ _ <= 0 => apply Sum_nonpos; intros; npos
    | |- - _ <= 0 => apply Rge_le, Ropp_0_le_ge_contravar; nneg
    | |- _ * _ <= 0 => first [apply mult_npos_r; [nneg | npos] | apply mult_npos_l; [npos | nneg]]
    | |- _ / _ <= 0 => apply mult_npos_l; [npos | apply Rlt_le, Rinv_0_lt_compat; pos]
    | |- _ + _ <= 0 => apply add_npos; npos
    | |- ln _ <= 0 => apply ln_npos; [pos | below_one]
    end
  | match goal with H : forall _, _ |- _ => apply H; ix end
  | lra ]
(* a <= b where b is a sum of which a is a term, or a quotient of the kind *)
with below_one :=
  cbv beta;
  first
  [ lra
  | lazymatch goal with
    | |- _ / _ <= 1 => apply div_below_one; [pos | below_one]
    | |- ?a <= Sum ?n ?f => match goal with Hi : (?i < n)%nat |- _ => apply (Sum_term n f i); [ix | intros; nneg] end
    | |- exp _ <= 1 => rewrite <- exp_0; apply exp_le; lra
    end ]
with above_one := cbv beta; first
  [ lra
  | lazymatch goal with
    | |- 1 <= 1 + ?x => assert (0 <= x) by nneg; lra
    | |- 1 <= ?x + 1 => assert (0 <= x) by nneg; lra
    | |- 1 <= exp _ => rewrite <- exp_0; apply exp_le; lra
    end ].
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
  | apply Rgt_not_eq; unfold Rgt; pos
  | match goal with N : ?a <> 0 |- ?b <> 0 => first
      [ replace b with a by ring; exact N | replace b with (- a) by ring; apply Ropp_neq_0_compat; exact N ] end
  | let H := fresh in intro H; ring_simplify in H; revert H;
    lazymatch goal with |- ?x = 0 -> False => assert (x <> 0) by (apply Rgt_not_eq; unfold Rgt; pos); assumption end ].
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
    | fun t => Rpower ?c (@?f t) => apply (d_Rpower c f); diff
    | fun t => (@?f t) ^ ?n => apply (d_pow n f); diff
    | fun t => Sum ?n (@?f t) => eapply (d_Sum n f); let k := fresh "k" in let H := fresh "H" in intros k H; diff
    | fun t => partial (@?F t) (@?up t) (@?y t) =>
      eapply (d_partial F up y); [intros ?; eapply d_eq; [diff | cbv beta; rewrite ?upd1_id, ?upd2_id; reflexivity] | diff]
    end
  end.
(* goal: partial F up x = its derivative by the rules that diff follows *)
Ltac derivative := apply D_of; eapply d_eq; [diff | cbv beta; rewrite ?upd1_id, ?upd2_id; reflexivity].
(* existence of a derivative *)
Ltac dif := cbv beta; unfold ex_partial; eexists; diff.

(* ---- tactics: equations without binders ---- *)
Ltac conds := repeat split; side.
(* an identity of rational functions; what is inside of sums is opaque *)
Ltac rat := cbv beta; cbn [INR Nat.pred]; lazymatch goal with |- @eq _ ?a ?b => change (@eq R a b) end; first [ring | unfold Rdiv; ring | field; conds].
(* the same, equal and unequal indices apart *)
Ltac indices :=
  repeat match goal with
  | |- context [delta ?a ?a] => rewrite (delta_same a)
  | |- context [delta ?a ?b] =>
    let E := fresh "E" in let N := fresh "N" in destruct (Nat.eq_dec a b) as [E|N];
    [first [exfalso; lia | rewrite ?(delta_eq a b E), ?(delta_eq b a (eq_sym E)); subst; rewrite ?delta_same in *] | rewrite ?(delta_diff a b), ?(delta_diff b a) by congruence]
  end.
(* indices that are equal by a hypothesis made one *)
Ltac one_index := repeat match goal with E : @eq nat ?i ?j |- _ => first [subst i | subst j] end.
(* bits: each entry in sight is 0 or 1 *)
Ltac bits := repeat match goal with
  | H : ?b = 0 \/ ?b = 1 |- context [?b] => destruct H as [H | H]; rewrite ?H
  | H : forall i, (i < _)%nat -> ?b i = 0 \/ ?b i = 1 |- context [?b ?i] =>
    let E := fresh in destruct (H i ltac:(ix)) as [E | E]; rewrite ?E
  | H : forall i, (i < _)%nat -> forall j, (j < _)%nat -> ?b i j = 0 \/ ?b i j = 1 |- context [?b ?i ?j] =>
    let E := fresh in destruct (H i ltac:(ix) j ltac:(ix)) as [E | E]; rewrite ?E
  end.
Ltac tests := unfold cases; repeat match goal with |- context [if ?d then _ else _] => destruct d end.
(* roots of what is not negative: their squares *)
Ltac roots := match goal with |- context [sqrt ?x] =>
  let s := fresh "s" in let H := fresh in
  assert (H : x = sqrt x ^ 2) by (rewrite pow2_sqrt; [reflexivity | nneg]); assert (0 <= sqrt x) by apply sqrt_pos;
  try (assert (0 < sqrt x) by pos); set (s := sqrt x) in *; clearbody s; rewrite ?H
  end; try roots.
Ltac leaf := first [rat | progress bits; rat | progress tests; rat | indices; rat | one_index; rewrite ?delta_same; indices; rat | roots; rat | exfalso; lra].
Ltac leaf_by_index := first [indices; rat | leaf].
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
Ltac swap_sums n := eapply eq_trans; [swapped n|]; cbv beta.
Ltac half_power := unfold Rdiv at 1; first
  [ replace (1 * / 2) with (/ 2) by field; apply Rpower_sqrt; pos
  | replace (- 1 * / 2) with (- / 2) by field; rewrite Rpower_Ropp, Rpower_sqrt by pos; reflexivity ].
Ltac vanish Z := cbv beta; rewrite Z; rat.
Ltac by_cases := unfold cases, delta, ind; repeat match goal with |- context [if ?d then _ else _] => destruct d end;
  first [ring | exfalso; lia | exfalso; lra].
Ltac places := first [ix | apply Argmax_lt; ix | match goal with H : forall _, _ |- _ => apply H; ix end].
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
(* what holds near the point of a limit *)
Ltac near := first
  [ exists (mkposreal 1 Rlt_0_1); let t := fresh "t" in let H := fresh in intros t _ H; intros; first [side | dif | lra]
  | exists 0; let t := fresh "t" in let H := fresh in intros t H; intros; first [side | dif | apply Rgt_not_eq; lra | apply Rlt_not_eq; lra] ].
Ltac defined := cbv zeta; repeat match goal with |- _ /\ _ => split end; intros;
  autounfold with user in *; first [side | dif | near].
Ltac open_all := cbv beta zeta in *; autounfold with user in *.
Ltac given := first [assumption | known | ix].

(* ---- order: one lemma a row of the kernel ---- *)
Lemma ln_le_sub1 x : 0 < x -> ln x <= x - 1.
Proof. intros. pose proof (exp_ineq1_le (ln x)) as E. rewrite exp_ln in E by assumption. lra. Qed.
Lemma row_exp_tangent u : exp u >= 1 + u.
Proof. apply Rle_ge, exp_ineq1_le. Qed.
Lemma row_strict_exp_tangent u : u <> 0 -> exp u > 1 + u.
Proof. apply exp_ineq1. Qed.
Lemma row_log_tangent u : u > 0 -> u - 1 >= ln u.
Proof. intros. apply Rle_ge, ln_le_sub1. assumption. Qed.
Lemma row_strict_log_tangent u : u > 0 -> u <> 1 -> u - 1 > ln u.
Proof.
  intros P N. assert (L : ln u <> 0) by (intros L; apply N; rewrite <- (exp_ln u P), L; apply exp_0).
  pose proof (exp_ineq1 (ln u) L) as E. rewrite exp_ln in E by assumption. lra.
Qed.
Lemma row_exp_increasing u v : u >= v -> exp u >= exp v.
Proof. intros [H| ->]; [left; apply exp_increasing; exact H|right; reflexivity]. Qed.
Lemma row_strict_exp_increasing u v : u > v -> exp u > exp v.
Proof. apply exp_increasing. Qed.
Lemma row_log_increasing u v : u >= v -> v > 0 -> ln u >= ln v.
Proof. intros [H| ->] P; [left; apply ln_increasing; assumption|right; reflexivity]. Qed.
Lemma row_strict_log_increasing u v : u > v -> v > 0 -> ln u > ln v.
Proof. intros. apply ln_increasing; assumption. Qed.
Lemma row_sqrt_increasing u v : u >= v -> v >= 0 -> sqrt u >= sqrt v.
Proof. intros. apply Rle_ge, sqrt_le_1; lra. Qed.
Lemma row_strict_sqrt_increasing u v : u > v -> v >= 0 -> sqrt u > sqrt v.
Proof. intros. apply sqrt_lt_1; lra. Qed.
Lemma sigmoid_pos x : 0 < sigmoid x.
Proof. unfold sigmoid. pose proof (exp_pos (- x)). apply Rinv_0_lt_compat. lra. Qed.
Lemma row_strict_sigmoid_increasing u v : u > v -> sigmoid u > sigmoid v.
Proof.
  intros H. unfold sigmoid. pose proof (exp_pos (- u)). assert (exp (- u) < exp (- v)) by (apply exp_increasing; lra).
  apply Rinv_lt_contravar; [apply Rmult_lt_0_compat; lra|lra].
Qed.
Lemma row_sigmoid_increasing u v : u >= v -> sigmoid u >= sigmoid v.
Proof. intros [H| ->]; [left; apply row_strict_sigmoid_increasing; exact H|right; reflexivity]. Qed.
Lemma row_strict_softplus_increasing u v : u > v -> softplus u > softplus v.
Proof.
  intros H. unfold softplus. pose proof (exp_pos v). assert (exp v < exp u) by (apply exp_increasing; lra).
  apply ln_increasing; lra.
Qed.
Lemma row_softplus_increasing u v : u >= v -> softplus u >= softplus v.
Proof. intros [H| ->]; [left; apply row_strict_softplus_increasing; exact H|right; reflexivity]. Qed.
Lemma row_exp_increments u v : (exp u - exp v) * (u - v) >= 0.
Proof.
  destruct (Rle_dec u v) as [H|H].
  - pose proof (row_exp_increasing v u ltac:(lra)). nra.
  - pose proof (row_exp_increasing u v ltac:(lra)). nra.
Qed.
Lemma row_square_root_order u v : u >= 0 -> u ^ 2 >= v ^ 2 -> u >= v.
Proof. intros. nra. Qed.
Lemma row_strict_square_root_order u v : u >= 0 -> u ^ 2 > v ^ 2 -> u > v.
Proof. intros. nra. Qed.
Lemma row_absolute_bound u v : u >= v -> u >= - v -> u >= Rabs v.
Proof. intros. unfold Rabs. destruct (Rcase_abs v); lra. Qed.
Lemma row_strict_absolute_bound u v : u > v -> u > - v -> u > Rabs v.
Proof. intros. unfold Rabs. destruct (Rcase_abs v); lra. Qed.
(* weighted means, for positive numbers: exp lies above its tangent at the mean of the logarithms *)
Lemma row_weighted_means u v p : u > 0 -> v > 0 -> p >= 0 -> 1 >= p ->
  p * u + (1 - p) * v >= Rpower u p * Rpower v (1 - p).
Proof.
  intros U V P Q. unfold Rpower. rewrite <- exp_plus. set (m := p * ln u + (1 - p) * ln v).
  assert (A : u >= exp m * (1 + (ln u - m))).
  { rewrite <- (exp_ln u U) at 1. replace (ln u) with (m + (ln u - m)) at 1 by ring. rewrite exp_plus.
    apply Rmult_ge_compat_l; [apply Rle_ge, Rlt_le, exp_pos|apply row_exp_tangent]. }
  assert (B : v >= exp m * (1 + (ln v - m))).
  { rewrite <- (exp_ln v V) at 1. replace (ln v) with (m + (ln v - m)) at 1 by ring. rewrite exp_plus.
    apply Rmult_ge_compat_l; [apply Rle_ge, Rlt_le, exp_pos|apply row_exp_tangent]. }
  assert (C : p * (exp m * (1 + (ln u - m))) + (1 - p) * (exp m * (1 + (ln v - m))) = exp m) by (unfold m at 2 4; ring).
  assert (p * (exp m * (1 + (ln u - m))) <= p * u) by (apply Rmult_le_compat_l; lra).
  assert ((1 - p) * (exp m * (1 + (ln v - m))) <= (1 - p) * v) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

(* ---- order: tactics ---- *)
(* marks of what `facts` has looked at *)
Definition Done (f : nat -> R) (i : nat) : Prop := True.
Definition Done2 (f : nat -> R) (i j : nat) : Prop := True.
Definition DoneR (a b : R) : Prop := True.
Ltac split_all := repeat match goal with H : _ /\ _ |- _ => destruct H end.
Ltac holds := repeat split; first [assumption | lia | tauto | lra].
(* what is plain of the exponentials and sums in sight *)
Ltac size_two n := first [lia | apply INR_le; cbn [INR]; lra].
Ltac facts :=
  repeat match goal with
  | |- context [exp ?a] => lazymatch goal with _ : 0 < exp a |- _ => fail | _ => pose proof (exp_pos a) end
  | |- context [Sum ?n ?f] => lazymatch goal with _ : 0 < Sum n f |- _ => fail | _ =>
      assert (0 < Sum n f) by pos end
  end;
  repeat match goal with
  | Hi : (?i < ?n)%nat |- context [Sum ?n ?f] =>
    lazymatch goal with _ : f i < Sum n f |- _ => fail | _ : Done f i |- _ => fail | _ => idtac end;
    let D := fresh in assert (D : Done f i) by exact I;
    first [ let F := fresh in assert (F : f i < Sum n f) by (apply (Sum_more n f i); [size_two n | ix | intros; pos]); cbv beta in F
          | let F := fresh in assert (F : f i <= Sum n f) by (apply (Sum_term n f i); [ix | intros; nneg]); cbv beta in F
          | idtac ]
  end;
  repeat match goal with
  | Hi : (?i < ?n)%nat, Hj : (?j < ?n)%nat, N : ?i <> ?j |- context [Sum ?n ?f] =>
    lazymatch goal with _ : Done2 f i j |- _ => fail | _ => idtac end;
    let D := fresh in assert (D : Done2 f i j) by exact I;
    first [ let F := fresh in assert (F : f i + f j <= Sum n f) by (apply (Sum_two n f i j); [ix | ix | ix | intros; nneg]); cbv beta in F | idtac ]
  end;
  repeat match goal with
  | |- context [exp ?a] =>
    match goal with |- context [exp ?b] =>
      lazymatch goal with _ : DoneR a b |- _ => fail | _ => idtac end;
      let D := fresh in assert (D : DoneR a b) by exact I;
      first [assert (1 < exp a) by (rewrite <- exp_0; apply exp_increasing; lra) | assert (1 <= exp a) by above_one
            | assert (exp a < 1) by (rewrite <- exp_0; apply exp_increasing; lra) | assert (exp a <= 1) by below_one | idtac];
      first [assert (exp a < exp b) by (apply exp_increasing; lra) | assert (exp a <= exp b) by (apply Rge_le, row_exp_increasing; lra) | idtac]
    end
  end.
Lemma neg_of_pos x : 0 < x -> - x < 0.
Proof. lra. Qed.
Ltac turned := lazymatch goal with |- _ > _ => apply Rlt_gt | |- _ >= _ => apply Rle_ge | |- _ => idtac end.
(* p (1 - p) is largest at one half *)
Ltac halves := repeat match goal with
  | |- context [exp ?a] => lazymatch goal with _ : 0 <= (exp a - 1) ^ 2 |- _ => fail | _ => pose proof (pow2_ge_0 (exp a - 1)) end
  end; repeat match goal with
  | |- context [Sum ?n ?f] => match goal with |- context [exp ?a] =>
      lazymatch goal with _ : 0 <= (Sum n f - 2 * exp a) ^ 2 |- _ => fail | _ => pose proof (pow2_ge_0 (Sum n f - 2 * exp a)) end end
  end.
Ltac compare := first [lra | nra | solve [halves; nra]].
Ltac sgn := open_all; cbn [INR]; turned;
  first [ assumption | lra | solve [pos] | solve [nneg] | solve [npos] | solve [nz]
        | solve [apply neg_of_pos; pos]
        | solve [indices; facts; compare]
        | solve [unfold relu, Rmax, Rmin, Rabs; tests; lra] ].
Ltac order := open_all;
  first [ lra | solve [pos] | solve [nneg] | solve [nz] | solve [indices; facts; compare]
        | solve [rewrite <- ?exp_plus; facts; compare] ].
Ltac prod := cbv beta;
  lazymatch goal with
  | |- 0 < _ * _ => first [apply Rmult_lt_0_compat; prod | nra]
  | |- 0 <= _ * _ => first [apply Rmult_le_pos; prod | nra]
  | |- _ * _ = 0 => first [apply mult_null; prod | nra]
  | |- _ => first [assumption | lra | nra]
  end.
(* a term of a sum with a filter, given X : filter -> sign of the rest *)
Ltac filtered X := unfold cases, delta, ind in *;
  repeat match goal with |- context [if ?d then _ else _] => destruct d end;
  first [ lra | let H := fresh in assert (H := X ltac:(holds)); lra | exfalso; lia ].
Lemma unscale1 s d : 0 < s -> 0 < s * d -> 0 < d.  Proof. intros; nra. Qed.
Lemma unscale2 s d : 0 < s -> 0 <= s * d -> 0 <= d.  Proof. intros; nra. Qed.
Lemma unscale3 s d : 0 < s -> s * d < 0 -> d < 0.  Proof. intros; nra. Qed.
Lemma unscale4 s d : 0 < s -> s * d <= 0 -> d <= 0.  Proof. intros; nra. Qed.
Lemma unscale5 s d : 0 < s -> s * d = 0 -> d = 0.  Proof. intros; nra. Qed.
Lemma unscale6 s d : s < 0 -> 0 < s * d -> d < 0.  Proof. intros; nra. Qed.
Lemma unscale7 s d : s < 0 -> 0 <= s * d -> d <= 0.  Proof. intros; nra. Qed.
Lemma unscale8 s d : s < 0 -> s * d < 0 -> 0 < d.  Proof. intros; nra. Qed.
Lemma unscale9 s d : s < 0 -> s * d <= 0 -> 0 <= d.  Proof. intros; nra. Qed.
Lemma unscale10 s d : s < 0 -> s * d = 0 -> d = 0.  Proof. intros; nra. Qed.
Lemma unscale11 s d : s * d <> 0 -> d <> 0.  Proof. intros H E; apply H; rewrite E; ring. Qed.
Ltac unscale HS T := first
  [ exact (unscale1 _ _ HS T) | exact (unscale2 _ _ HS T) | exact (unscale3 _ _ HS T) | exact (unscale4 _ _ HS T)
  | exact (unscale5 _ _ HS T) | exact (unscale6 _ _ HS T) | exact (unscale7 _ _ HS T) | exact (unscale8 _ _ HS T)
  | exact (unscale9 _ _ HS T) | exact (unscale10 _ _ HS T) | exact (unscale11 _ _ T) ].
Ltac from_gap G := first [lra | exact G | let Q := fresh in intro Q; apply G; lra].
